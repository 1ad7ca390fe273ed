"""From a routed request to its plan: the rewrite, the join, and what to try in which order."""

from __future__ import annotations

from dataclasses import dataclass

from tornado_proxy.routing.mounts import Routed
from tornado_proxy.routing.plan import Plan
from tornado_proxy.routing.request import Facts
from tornado_proxy.rules.errors import RewriteError
from tornado_proxy.rules.model import Rewritten
from tornado_proxy.templating.data import User


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan and how it came to be: what the rules made of the key, or why they failed."""

    plan: Plan
    rewritten: Rewritten | None = None
    failure: RewriteError | None = None


def plan(routed: Routed, facts: Facts, user: User | None) -> Planned:
    """What to try for a GET, HEAD or DELETE, or for a PUT whose file name is not known yet (only refusals then)."""
    raise NotImplementedError


def plan_upload(routed: Routed, facts: Facts, user: User | None, file_name: str) -> Planned:
    """What to do with an upload, once its form has told the file's name as the client sent it."""
    raise NotImplementedError
