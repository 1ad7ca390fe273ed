"""What must hold for a write to happen, in the one condition that S3 decides in the write itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.semantics.etags import ANY, is_etag, is_weak
from tornado_proxy.storage.errors import ObjectExists, ObjectMissing, PreconditionFailed, StorageError
from tornado_proxy.storage.s3.client import Parameters
from tornado_proxy.storage.store import ObjectInfo, Write

_NOTHING_THERE = {"IfNoneMatch": ANY}


@dataclass(frozen=True, slots=True)
class Precondition:
    """The parameters of the write, and what it raises when S3 finds that they do not hold."""

    parameters: Parameters = field(default_factory=dict)
    refusal: type[StorageError] = PreconditionFailed

    @contextmanager
    def decided(self) -> Iterator[None]:
        """Around the write: S3 finds an object in the way, or another than it should replace, or none (a 404)."""
        try:
            yield
        except (PreconditionFailed, ObjectMissing) as error:
            raise self.refusal(str(error)) from error


def at_once(write: Write) -> Precondition | None:
    """The precondition of a write that S3 can decide alone; None where the object must be looked at first."""
    match write:
        case Write(replace=True, conditions=Conditions(if_match=(), if_none_match=(), if_unmodified_since=None)):
            return Precondition()
        case Write(replace=False, conditions=Conditions(if_match=(), if_none_match=(), if_unmodified_since=None)):
            return Precondition(_NOTHING_THERE, ObjectExists)
        case Write(conditions=Conditions(if_match=(), if_none_match=("*",), if_unmodified_since=None)):
            return Precondition(_NOTHING_THERE)
        case Write(replace=True, conditions=Conditions(if_match=(etag,), if_none_match=())) if is_strong(etag):
            return Precondition({"IfMatch": etag})
    return None


def after_a_look(write: Write, found: ObjectInfo | None) -> Precondition:
    """The precondition of a write for which this was found: that it still is there as it was, or still is not.

    Raises what stands against the write already.
    """
    if found is not None and not write.replace:
        raise ObjectExists("an object that may not be replaced is there")
    etag, date = (found.etag, found.last_modified) if found else (None, None)
    if not write.conditions.allow_write(etag, date, exists=found is not None):
        raise PreconditionFailed("the object to be replaced is not what the client expects")
    if found is None:
        return Precondition(_NOTHING_THERE, PreconditionFailed if write.replace else ObjectExists)
    return Precondition({"IfMatch": etag} if etag else {})


def is_strong(etag: str) -> bool:
    """Whether a member of If-Match is one that S3 compares as RFC 9110 8.8.3.2 says."""
    return is_etag(etag) and not is_weak(etag)
