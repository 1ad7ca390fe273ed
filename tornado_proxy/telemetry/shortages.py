"""What the system has run out of, which is no defect of ours however it shows."""

from __future__ import annotations

import errno
from collections.abc import Iterator

_NUMBERS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


def shortage(error: BaseException | None) -> str | None:
    """What the system has too little of, in its words, if that is why an error was raised."""
    return next((each.strerror for each in _chain(error) if isinstance(each, OSError) and each.errno in _NUMBERS), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and those that it was raised from."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        yield error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
