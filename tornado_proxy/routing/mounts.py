"""Which target a host and a path lead to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tornado_proxy.config.model import Target
from tornado_proxy.routing.access import Access
from tornado_proxy.routing.keys import RequestPath
from tornado_proxy.rules.keys import Key
from tornado_proxy.rules.model import RuleSet


@dataclass(frozen=True, slots=True)
class Site:
    """A target ready to be asked: its configuration, its rules, its access; all compiled."""

    target: Target
    rules: RuleSet
    access: Access = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Routed:
    """Where a request led: the site, the mount path that matched (it ends in `/`), and the key below it."""

    site: Site
    mount: str
    key: Key


class Mounts:
    """All sites by host and path: exact host, then pattern, then any; then the longest path; then file order."""

    def __init__(self, sites: Sequence[Site]) -> None:
        self._sites = tuple(sites)

    def find(self, host: str, path: RequestPath) -> Routed | None:
        """The site that a host (no port, lower case) and a path lead to; None where there is none."""
        raise NotImplementedError
