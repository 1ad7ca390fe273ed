"""Who may: a guard asked, and whoever must sign in asked for credentials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from tornado_proxy.auth.authenticator import Authenticator, Challenge
from tornado_proxy.gateway.failures import Refusal, refusal_by
from tornado_proxy.routing.access import Anyone, Guard, Nobody, SignedIn
from tornado_proxy.routing.request import Facts
from tornado_proxy.templates.data import User


async def admit(guard: Guard, facts: Facts, authenticators: Mapping[str, Authenticator]) -> User | Refusal | None:
    """The user who signed in, None where nobody need, or the refusal; raises `AuthBusy`."""
    match guard:
        case Anyone():
            return None
        case Nobody():
            return Refusal(403, "no resource of the target covers the request")
        case SignedIn():
            answer = await authenticators[guard.provider].authenticate(facts, guard)
            return refusal_by(answer) if isinstance(answer, Challenge) else answer
        case _:
            assert_never(guard)
