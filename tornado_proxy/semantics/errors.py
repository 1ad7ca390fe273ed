"""The base of the errors that have an answer of their own; an exception without one is a defect."""

from __future__ import annotations

from typing import ClassVar


class StatusError(Exception):
    """An error that a client is answered with: its `status`, and a `public_message` if the status says too little."""

    status: ClassVar[int]
    public_message: str | None = None

    @property
    def by_client(self) -> bool:
        """Whether the client caused it (RFC 9110 15.5)."""
        return self.status < 500
