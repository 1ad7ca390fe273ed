"""What can go wrong while a Go template runs, beside what `templates.errors` names."""

from __future__ import annotations

from tornado_proxy.templates.errors import RenderError


class ExecutionError(RenderError):
    """What Go's Execute returns as an error; `context` is the part of the template that failed, once it is known."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.context: str | None = None

    def __str__(self) -> str:
        return self.message if self.context is None else f"{self.message}, in `{self.context}`"
