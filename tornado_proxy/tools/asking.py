"""What becomes of requests that were made, by the sites of one set of rules: the plans that a server would make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.address import read_address
from tornado_proxy.routing.errors import RequestError
from tornado_proxy.routing.explain import turned_away
from tornado_proxy.routing.keys import parse_request_path
from tornado_proxy.routing.mounts import Mounts, Routed, Site, host_name
from tornado_proxy.routing.plan import Attempt, Refuse
from tornado_proxy.routing.planner import FAILURE_STATUS, plan
from tornado_proxy.routing.request import Facts, query_pairs
from tornado_proxy.templates.data import User
from tornado_proxy.tools.traffic import Request

UPLOAD = "the name of an upload's file is in no log"
"""Why nothing can be said of a PUT to a directory."""


class Answer(NamedTuple):
    """What became of a request: small, since many are kept, and sent from one process to another.

    `asked` tells whether it came to the rules of its target; `number` is that of the rewrite that took its key. A
    request that got no key, or one that cannot be served, has the status and the reason.
    """

    path: str  # decoded; as sent where it cannot be
    target: str | None = None
    asked: bool = False
    number: int | None = None
    key: str | None = None
    status: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Given:
    """What is said of all requests at once: who signs in, and what their lines do not tell."""

    user: User | None = None
    host: str = ""
    headers: tuple[tuple[str, str], ...] = ()


class Located(NamedTuple):
    """A request that leads to a target."""

    routed: Routed
    facts: Facts


class Asker:
    """Asks the sites of one configuration and one set of rules."""

    def __init__(self, sites: Sequence[Site], given: Given) -> None:
        self.sites = {each.target.name: each for each in sites}
        self._mounts = Mounts(sites)
        self._given = given

    def locate(self, request: Request) -> Located | Answer:
        """Where a request leads, or the answer to one that leads nowhere."""
        try:
            address = read_address(request.address)
            path = parse_request_path(address.path)
        except RequestError as error:
            return Answer(request.address, status=error.status, reason=str(error))
        host = host_name(address.authority or request.host or self._given.host)
        routed = self._mounts.find(host, path)
        if routed is None:
            return Answer(path, status=404, reason="no target is mounted there")
        query = query_pairs(address.query) if address.query else ()
        return Located(routed, Facts(request.method, path, host, address.query, query, self._given.headers))

    def ask(self, request: Request) -> Answer:
        """What becomes of a request."""
        located = self.locate(request)
        return located if isinstance(located, Answer) else self.ask_there(located, request)

    def ask_there(self, located: Located, request: Request) -> Answer:
        """What becomes of a request where it leads, by these rules; the same mounts may have located it for others."""
        found = located.routed
        site = self.sites[found.site.target.name]
        routed = found if found.site is site else Routed(site, found.mount, found.key)
        return _admitted(routed, located.facts, self._given.user or (User(request.user) if request.user else None))


def _admitted(routed: Routed, facts: Facts, user: User | None) -> Answer:
    """As a server does it: a method that is not enabled is refused before anybody is asked to sign in."""
    target = routed.site.target
    guard = routed.site.access.guard(facts.path, facts.method)
    refused = turned_away(guard, user)
    if refused is not None and facts.method in target.actions.methods:
        return Answer(facts.path, target.name, status=refused.status, reason=refused.reason)
    planned = plan(routed, facts, user if isinstance(guard, SignedIn) else None)
    failure = planned.failure
    if failure is not None:
        failed = FAILURE_STATUS[type(failure)]
        return Answer(facts.path, target.name, True, failure.rewrite.number, None, failed, str(failure))
    status, reason = _refusal(planned.plan[0]) if planned.plan else (None, UPLOAD)
    if planned.rewritten is None:
        return Answer(facts.path, target.name, status=status, reason=reason)
    rewrite = planned.rewritten.rewrite
    number = rewrite.number if rewrite else None
    return Answer(facts.path, target.name, True, number, planned.rewritten.key, status, reason)


def _refusal(attempt: Attempt) -> tuple[int | None, str]:
    return (attempt.status, attempt.reason) if isinstance(attempt, Refuse) else (None, "")
