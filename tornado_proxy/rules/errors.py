"""What can go wrong when a rule set rewrites one key.

RewriteError
├── RefusedResult      the result is no key: a dot segment, a control character, too long, empty   → 400
├── UserRequired       the template reads from the user where nobody is signed in                  → 403
└── TemplateFailed     any other failure of the template                                           → 500
"""

from __future__ import annotations

from tornado_proxy.rules.rewrite import Rewrite


class RewriteError(Exception):
    """A key that could not be rewritten; names the rewrite, and says why."""

    def __init__(self, message: str, rewrite: Rewrite) -> None:
        super().__init__(message)
        self.rewrite = rewrite


class RefusedResult(RewriteError):
    """The template's result cannot be a key; `result` is the text that was refused."""

    def __init__(self, message: str, rewrite: Rewrite, result: str) -> None:
        super().__init__(message, rewrite)
        self.result = result


class UserRequired(RewriteError):
    """The template reads from the user where nobody is signed in."""


class TemplateFailed(RewriteError):
    """The template failed: an undefined name, a limit, an error that it raised itself."""
