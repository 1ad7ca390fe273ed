"""Releases of rules, and a bucket of them in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from tornado_proxy.config.model import RulesBucket
from tornado_proxy.rules.loading import RuleFile
from tornado_proxy.rules.releases import Pointer, Release
from tornado_proxy.storage.errors import NotModified, ObjectMissing, StorageError

PLACE = "s3://rules/site/"


def release_of(statement: str) -> Release:
    """A release of one file with a statement for the target `site`."""
    return Release.of([RuleFile("site.rules", f"target site {{ {statement} }}".encode())])


FIRST, SECOND = release_of('rewrite `^/a$` -> "/first"'), release_of('rewrite `^/a$` -> "/second"')


@dataclass
class FakeReleases:
    """Releases in memory, with a failure to raise, and the calls that were made."""

    pointer: Pointer = field(default_factory=Pointer)
    releases: dict[str, Release] = field(default_factory=dict)
    failure: StorageError | None = None
    calls: list[str] = field(default_factory=list)
    connected: list[RulesBucket] = field(default_factory=list)
    closed: int = 0

    def push(self, release: Release) -> None:
        """Put a release in force."""
        self.releases[release.digest] = release
        self.pointer = self.pointer.pushed(release.digest, "now", "ann")

    def connect(self, place: RulesBucket) -> FakeReleases:
        """Return itself for any place."""
        self.connected.append(place)
        return self

    def read_pointer(self, etag: str = "") -> tuple[Pointer, str]:
        """The pointer, whose number of moves is its ETag."""
        self.calls.append("pointer")
        if self.failure:
            raise self.failure
        if not self.pointer.moves:
            missing = ObjectMissing("`s3://rules/site/current.json`: 404 NoSuchKey")
            missing.code = "NoSuchKey"
            raise missing
        if etag == str(len(self.pointer.moves)):
            raise NotModified("the same")
        return self.pointer, str(len(self.pointer.moves))

    def read_release(self, digest: str) -> Release:
        """A release."""
        self.calls.append("release")
        if digest not in self.releases:
            raise ObjectMissing(f"no {digest}")
        return self.releases[digest]

    def close(self) -> None:
        """Count."""
        self.closed += 1
