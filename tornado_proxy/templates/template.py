"""The protocol of templates, and the plain dialect: `$name`, `${name}`, `$1` and `$$`."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Protocol

from gotemplate.regexp.matching import Captures, Expansion, Reference
from gotemplate.template.errors import RenderError, RenderLimits, TemplateMistake, help_for_unknown
from gotemplate.template.text import GO_SPACES
from tornado_proxy.templates.data import TargetKeyRewriteData


class MissingUserError(RenderError):
    """A template reads from the user, but nobody is signed in."""


PAGE_LIMITS = RenderLimits(steps=200_000, text=4 << 20, items=10_000)
"""The limits of one rendering of a page; a listing has up to a thousand entries."""


class Template(Protocol):
    """A template compiled at load; three dialects implement it: plain, jinja and go."""

    @property
    def text(self) -> str:
        """The template as written."""

    @property
    def group_references(self) -> tuple[Reference, ...]:
        """The groups that the text names."""

    @property
    def reads_user(self) -> bool:
        """Whether rendering may fail because nobody is signed in."""

    def render(self, captures: Captures, data: TargetKeyRewriteData) -> str:
        """Returns the text for a match; raises `RenderError`."""


class PlainTemplate(Expansion):
    """A template of the plain dialect."""

    __slots__ = ()
    reads_user: ClassVar[bool] = False
    render = Expansion.expand


def compile_plain(text: str, *_groups: object) -> PlainTemplate:
    """Compiles a plain template; any text is one, whatever groups the source has."""
    return PlainTemplate.read(text)


def unknown_group(name: str, start: int, end: int, groups: Collection[str]) -> TemplateMistake:
    """Returns the mistake of naming a group that the source lacks; `groups` are the names and numbers that it has."""
    advice = help_for_unknown(name, groups) or f"there are {', '.join(f'`{each}`' for each in sorted(groups))}"
    return TemplateMistake(f"the source has no group `{name}`", start, end, advice)


def trimmed(text: str) -> str:
    """Returns a text without line ends, then without outer spaces, as s3-proxy does with strings.TrimSpace."""
    return text.replace("\r\n", "").replace("\n", "").strip(GO_SPACES)
