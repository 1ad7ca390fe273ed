"""The base of the errors that have an answer of their own; an exception without one is a defect."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import ClassVar

_OF_SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class StatusError(Exception):
    """An error that a client is answered with: its `status`, and a `public_message` if the status says too little."""

    status: ClassVar[int]
    public_message: str | None = None

    @property
    def by_client(self) -> bool:
        """Whether the client caused it (RFC 9110 15.5)."""
        return self.status < 500


def shortage(error: BaseException | None) -> str | None:
    """Returns the system's message if an error comes from a lack of descriptors or memory, else None."""
    of_system = (each for each in _chain(error) if isinstance(each, OSError))
    return next((each.strerror for each in of_system if each.errno in _OF_SHORTAGES), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        yield error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
