"""The sources of rules: directories, which are read each time, and buckets, which are polled.

A bucket's release is taken whole or not at all: the last one stays while a newer one cannot be fetched. Until the first
one is fetched, the files of the last good copy stand in.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping
from functools import partial

import msgspec
from msgspec.structs import replace

from tornado_proxy.config.model import RulesBucket, Settings
from tornado_proxy.rules.diagnostic import Diagnostic, Severity, Span
from tornado_proxy.rules.loading import Read, RuleFile, read_rule_files
from tornado_proxy.rules.releases import Release, UnusableRelease
from tornado_proxy.s3.releases import ReleaseBucket
from tornado_proxy.storage.errors import NotModified, StorageError
from tornado_proxy.telemetry.events import RulesPolled

UNREACHABLE = "unreachable-rules"  # the code of a bucket whose rules cannot be fetched
_JITTER = 0.1  # of the interval, so that many instances do not poll at once
_TIMEOUT = 4.0  # seconds of silence
_LONGEST = 60.0  # seconds to read an object; the largest has some megabytes
_ATTEMPTS = 2  # S3 may have closed the connection of the last poll
_CONNECT = partial(ReleaseBucket, timeout=_TIMEOUT, attempts=_ATTEMPTS, longest=_LONGEST)


class FetchedRules(msgspec.Struct, frozen=True):
    """What is known of a bucket."""

    place: RulesBucket
    release: Release | None = None  # the last one
    etag: str = ""  # of the pointer to it
    problem: str = ""  # why the last poll failed
    cause: str = ""  # the kind of that failure, which stays the same from poll to poll
    at: float = 0.0  # Unix time, seconds, of the last poll that succeeded


class RuleSources:
    """Reads the rules of a configuration: `read` and `poll` block."""

    def __init__(self, kept: Read | None = None, connect: Callable[[RulesBucket], ReleaseBucket] = _CONNECT) -> None:
        self._connect = connect
        self._kept = kept or Read(())  # stands in while a bucket was never read
        self._places: tuple[RulesBucket, ...] = ()
        self._interval = math.inf
        self._due = math.inf  # monotonic seconds
        self._buckets: dict[RulesBucket, ReleaseBucket] = {}
        self._fetched: dict[str, FetchedRules] = {}  # by URL: other credentials do not make it another place
        self._told: dict[str, str] = {}  # the cause that was told last, by URL

    @property
    def fetched(self) -> Mapping[str, FetchedRules]:
        """What is known of each bucket that the configuration names, by its URL."""
        return {place.s3: self._fetched[place.s3] for place in self._places if place.s3 in self._fetched}

    def read(self, settings: Settings | None) -> Read:
        """Reads directories, and fetches from buckets that were not read before."""
        if settings is None:
            return Read(())
        read = read_rule_files(settings.rules, settings.rule_spans, self._fetch, again=True)
        self._places = tuple(each for each in settings.rules if isinstance(each, RulesBucket))
        self._interval = settings.reload.poll_interval
        if self._due == math.inf or not self._places:
            self._set_due()
        return read

    def due_in(self) -> float:
        """Returns the seconds until the next poll; infinite if there is no bucket."""
        return max(0.0, self._due - time.monotonic())

    def poll(self) -> None:
        """Asks each bucket for its release."""
        self._set_due()
        for place in self._places:
            self._fetched[place.s3] = self._asked(place, self._fetched.get(place.s3))

    def note_silence(self) -> None:
        """Notes of each bucket without another problem that a poll has no answer yet; the end of the poll says more."""
        for url, each in self.fetched.items():
            if not each.problem:
                self._fetched[url] = replace(each, problem="S3 does not answer", cause="silence")

    def news(self) -> list[RulesPolled]:
        """Returns what the polls found since the last call: each bucket that fails in a new way, or no more."""
        causes = {place: each.cause for place, each in self.fetched.items()}
        changed = [place for place, cause in causes.items() if cause != self._told.get(place, "")]
        self._told = causes
        return [RulesPolled(place, self._fetched[place].problem) for place in changed]

    def _set_due(self) -> None:
        wait = self._interval * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 - no secret
        self._due = time.monotonic() + wait if self._places else math.inf

    def _fetch(self, place: RulesBucket, span: Span | None) -> Read:
        pair = place.credentials
        if pair is not None and not (pair.access_key.reveal() and pair.secret_key.reveal()):
            note = f"not checked: the rules in `{place}`, whose credentials only the service has"
            return Read((), (Diagnostic("unchecked-rules", note, span, severity=Severity.INFO),))
        known = self._fetched.get(place.s3)
        if known is None or known.place != place:
            known = self._fetched[place.s3] = self._asked(place, known)
        if known.release is None:
            advice = "`--last-good` keeps a copy from which the service starts while the bucket is away"
            if known.cause == "NoSuchKey":
                advice = f"put rules there: `tornado-proxy push rules {place}`"
            return Read((), (Diagnostic(UNREACHABLE, f"the rules cannot be fetched: {known.problem}", span, advice),))
        return Read(known.release.below(place.s3), releases=((place.s3, known.release.digest),))

    def _asked(self, place: RulesBucket, before: FetchedRules | None) -> FetchedRules:
        known = before or FetchedRules(place, self._kept_release(place))
        known = known if known.place == place else replace(known, place=place, etag="")
        try:
            pointer, etag = self._bucket(place).read_pointer(known.etag)
            release, digest = known.release, pointer.moves[0].digest
            if release is None or release.digest != digest:
                release = self._bucket(place).read_release(digest)
        except NotModified:
            return replace(known, problem="", cause="", at=time.time())
        except StorageError as error:
            return replace(known, problem=str(error), cause=error.code or type(error).__name__)
        return FetchedRules(place, release, etag, at=time.time())

    def _bucket(self, place: RulesBucket) -> ReleaseBucket:
        if place not in self._buckets:
            for former in [each for each in self._buckets if each.s3 == place.s3]:
                self._buckets.pop(former).close()
            self._buckets[place] = self._connect(place)
        return self._buckets[place]

    def _kept_release(self, place: RulesBucket) -> Release | None:
        files = [each for each in self._kept.files if each.name.startswith(place.s3)]
        try:
            release = Release.of(RuleFile(each.name.removeprefix(place.s3), each.data) for each in files)
        except UnusableRelease:
            return None
        return release if (place.s3, release.digest) in self._kept.releases else None
