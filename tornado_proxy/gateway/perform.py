"""A plan performed over a store: its attempts in order, until one has an answer."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import assert_never

from tornado_proxy.gateway.answer import Answer, Outcome, Streamed, Whole, page
from tornado_proxy.gateway.failures import refusal_of
from tornado_proxy.gateway.pagination import next_query, read_window
from tornado_proxy.gateway.representation import file_headers, unchanged_headers
from tornado_proxy.pages.forms import choose
from tornado_proxy.pages.listing import Line, Listing
from tornado_proxy.pages.render import LISTING_FORMS, Pages
from tornado_proxy.routing.mounts import Routed
from tornado_proxy.routing.plan import Attempt, Browse, Plan, Receive, Redirect, Refuse, Remove, Serve, Sign
from tornado_proxy.routing.request import Facts
from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.semantics.ranges import ByteRange
from tornado_proxy.storage.errors import NotModified, ObjectMissing, PreconditionFailed
from tornado_proxy.storage.store import Store

_UNCONDITIONAL = Conditions()


@dataclass(frozen=True, slots=True)
class Scene:
    """What a plan is performed with: the request, where it led, and what may be asked."""

    facts: Facts
    routed: Routed
    store: Store
    pages: Pages
    headers: Mapping[str, str]  # of the request, names in any case
    conditions: Conditions = field(init=False)
    query: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "conditions", Conditions.from_headers(self.headers))
        # Of several values of one name the first counts.
        object.__setattr__(self, "query", dict(reversed(self.facts.query)))


async def perform(plan: Plan, scene: Scene) -> Outcome:
    """The outcome of the first attempt that finds something; raises `StorageError`."""
    for attempt in plan:
        with suppress(ObjectMissing):
            outcome = await _try(attempt, scene)
            if outcome is not None:
                return outcome
    raise ObjectMissing("no attempt of the plan found anything")


async def _try(attempt: Attempt, scene: Scene) -> Outcome | None:
    match attempt:
        case Serve():
            return await _serve(attempt, scene)
        case Browse():
            return await _browse(attempt, scene)
        case Redirect():
            return await _redirect(attempt, scene)
        case Sign():
            return await _sign(attempt, scene)
        case Remove():
            return await _remove(attempt, scene)
        case Refuse():
            return refusal_of(attempt)
        case Receive():
            raise TypeError("an upload is received by `intake`, which has its form")
        case _:
            assert_never(attempt)


async def _serve(attempt: Serve, scene: Scene) -> Answer:
    try:
        if scene.facts.method == "HEAD":
            # RFC 9110 14.2: a Range counts for GET only.
            return Whole(200, file_headers(await scene.store.head(attempt.key, scene.conditions)))
        part = ByteRange.from_header(scene.headers.get("Range"))
        opened = await scene.store.open(attempt.key, scene.conditions, part)
    except NotModified as unchanged:
        return Whole(304, unchanged_headers(unchanged.info))
    sent = opened.content_range
    return Streamed(206 if sent else 200, file_headers(opened.info, sent), opened)


async def _browse(attempt: Browse, scene: Scene) -> Answer | None:
    window = read_window(scene.query, scene.routed.site.target.bucket.list_max_keys)
    found = await scene.store.list(attempt.prefix, window.token, window.limit)
    if not found.entries and not found.exists and not attempt.root:
        return None
    lines = tuple(Line(each.name, each.size, each.last_modified, each.etag) for each in found.entries)
    more = next_query(scene.query, found.next_token)
    listing = Listing(scene.facts.path, scene.routed.mount, lines, more, first=window.token is None)
    form = choose(LISTING_FORMS, scene.headers.get("Accept"), scene.query.get("format"))
    return page(200, scene.pages.listing(listing, form))


async def _redirect(attempt: Redirect, scene: Scene) -> Answer | None:
    if attempt.below is not None:
        found = await scene.store.list(attempt.below, None, 1)
        if not found.entries and not found.exists:
            return None
    return _found(attempt.location, "no-cache")


async def _sign(attempt: Sign, scene: Scene) -> Answer:
    await scene.store.head(attempt.key, _UNCONDITIONAL)
    return _found(await scene.store.sign(attempt.key, attempt.expires), "private, no-store")


def _found(location: str, cache_control: str) -> Whole:
    return Whole(302, (("Location", location), ("Cache-Control", cache_control), ("Content-Length", "0")))


async def _remove(attempt: Remove, scene: Scene) -> Answer:
    if scene.conditions != _UNCONDITIONAL:
        await _check_removal(attempt, scene)
    await scene.store.remove(attempt.key)
    return Whole(204)


async def _check_removal(attempt: Remove, scene: Scene) -> None:
    """Hold a DELETE to its conditions by a look before it, as S3's own DELETE takes none everywhere."""
    try:
        info = await scene.store.head(attempt.key, _UNCONDITIONAL)
    except ObjectMissing:
        allowed = scene.conditions.allow_write(None, None, exists=False)
    else:
        allowed = scene.conditions.allow_write(info.etag, info.last_modified, exists=True)
    if not allowed:
        raise PreconditionFailed("a condition of the DELETE does not hold")
