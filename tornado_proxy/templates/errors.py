"""What can be wrong with a template.

TemplateError
├── TemplateMistake       found at load: the text is not a template of its dialect, or names what does not exist
└── RenderError           found at rendering
    ├── MissingUserError  it reads from the user where nobody is signed in
    └── LimitError        it takes more work or makes more text than is allowed
"""

from __future__ import annotations


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
