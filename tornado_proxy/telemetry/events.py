"""What can happen, each told once: requests answered, requests refused, defects, reloads."""

from __future__ import annotations

from dataclasses import dataclass

from tornado_proxy.lang.diagnostic import Diagnostic


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asked for what, and where it led, as far as it came.

    `at` is the Unix time in seconds. `path` is the decoded request path, or the raw one where it cannot be decoded;
    it never holds the query, in which signatures and tokens travel. `key` is the rewritten one, without the prefix.
    """

    request_id: str
    at: float
    client: str
    method: str
    host: str
    path: str
    generation: int
    target: str | None = None
    key: str | None = None
    rule: str | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True)
class Served:
    """A request was done what it asked for; `complete` is false where the answer broke off after its first byte."""

    asked: Asked
    status: int
    sent: int  # bytes of the body
    received: int  # bytes of the request's body
    seconds: float
    complete: bool = True
    reason: str | None = None  # why it broke off


@dataclass(frozen=True, slots=True)
class Refused:
    """A request got an error; `reason` is for the operator, never for the client."""

    asked: Asked
    status: int
    sent: int
    received: int
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A defect of ours answered 500, or would have; the error carries its traceback."""

    asked: Asked
    error: BaseException


@dataclass(frozen=True, slots=True)
class Reloaded:
    """A new generation is in force; `seconds` is how long it took to build.

    `changes` says what differs from the one before, a line each; `kept_back` names settings that only a restart
    changes, and that differ from what runs.
    """

    generation: int
    seconds: float
    rewrites: int
    at: float = 0.0  # Unix time, seconds
    changes: tuple[str, ...] = ()
    kept_back: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReloadRefused:
    """An edit was bad: the generation before it stays in force."""

    generation: int
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class ReloadFailed:
    """A defect of ours broke a reload off, whatever the files say: the generation before it stays in force."""

    generation: int
    error: BaseException


@dataclass(frozen=True, slots=True)
class Restored:
    """What kept a reload from happening has been taken back: the files say what is in force again."""

    generation: int


@dataclass(frozen=True, slots=True)
class Retired:
    """The last request of a generation has left, and what only it held is closed."""

    generation: int


@dataclass(frozen=True, slots=True)
class S3Called:
    """A bucket was asked; `call` is a method of the store, `outcome` is `ok` or the name of a storage error.

    `seconds` is the time to the answer: for a download, to its first byte.
    """

    target: str
    call: str
    outcome: str
    seconds: float


@dataclass(frozen=True, slots=True)
class InFlight:
    """So many requests are being answered now."""

    requests: int


Event = Served | Refused | Failed | Reloaded | ReloadRefused | ReloadFailed | Restored | Retired | S3Called | InFlight
