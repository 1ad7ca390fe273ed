"""What every dialect shares: the protocol of a template, its errors, references to groups, and how keys are trimmed.

TemplateError
├── TemplateMistake       found at load: the text is not a template of its dialect, or names something unknown
└── RenderError           found at rendering
    ├── MissingUserError  it reads from the user, but nobody is signed in
    └── LimitError        it takes more work or makes more text than is allowed
"""

from __future__ import annotations

from typing import Protocol

from tornado_proxy.goregex.matching import Captures
from tornado_proxy.templates.data import TargetKeyRewriteData


class TemplateError(Exception):
    """Something wrong with a template; the text is the fact, without a full stop."""


class TemplateMistake(TemplateError):
    """A template that cannot be compiled; `offset` and `end` are code points in its text."""

    def __init__(self, message: str, offset: int = 0, end: int | None = None, help: str | None = None) -> None:
        super().__init__(message)
        self.offset = offset
        self.end = end
        self.help = help


class RenderError(TemplateError):
    """A template that failed for one request."""


class MissingUserError(RenderError):
    """A template read from the user where nobody is signed in."""


class LimitError(RenderError):
    """A template took more steps, or made more text, than is allowed."""


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


# From here on Go takes digits for a name.
_LONGEST_NUMBER = 9


def group_number(reference: str) -> int | None:
    """The number that a reference is: digits without leading zeros; None where it is a name."""
    if not (reference.isascii() and reference.isdecimal()) or len(reference) > _LONGEST_NUMBER:
        return None
    return int(reference) if reference[0] != "0" or reference == "0" else None


GO_SPACES = (
    "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
)
"""The characters of Go's unicode.IsSpace: White_Space without U+001C to U+001F, which Python strips too."""


def trimmed(text: str) -> str:
    """A text without line ends, then without spaces at its ends, as s3-proxy does with strings.TrimSpace."""
    return text.replace("\r\n", "").replace("\n", "").strip(GO_SPACES)
