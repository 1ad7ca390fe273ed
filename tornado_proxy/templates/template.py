"""The protocol of a compiled template, whatever its dialect."""

from __future__ import annotations

from typing import Protocol

from tornado_proxy.goregex.matching import Captures
from tornado_proxy.templates.data import TargetKeyRewriteData


class Template(Protocol):
    """A template compiled at load; three dialects implement it: plain, jinja and go."""

    @property
    def text(self) -> str:
        """The template as written."""
        ...

    @property
    def group_references(self) -> tuple[tuple[str, int, int], ...]:
        """The groups that the text names, each with its start and end (code points) in it; a check's material."""
        ...

    @property
    def reads_user(self) -> bool:
        """Whether rendering may read from the user, so that it fails where nobody is signed in."""
        ...

    def render(self, captures: Captures, data: TargetKeyRewriteData) -> str:
        """The text for one match, raising `RenderError`; line ends and outer spaces are handled by the dialect."""
        ...
