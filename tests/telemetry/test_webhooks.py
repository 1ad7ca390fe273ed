from __future__ import annotations

import asyncio
import json

import pytest

from tornado_proxy.auth.fetching import Fetched
from tornado_proxy.config.actions import Webhook
from tornado_proxy.config.secrets import Secret
from tornado_proxy.telemetry.events import Bus, ObjectUsed, WebhookCalled
from tornado_proxy.telemetry.webhooks import WORKERS, WebhookCaller

BODY = {"action": "GET", "target": {"name": "site"}}
HOOK = Webhook("http://hooks.example/", headers=(("h1", "v1"),), secret_headers=(("Authorization", Secret("x", "s3")),))


class _World:
    """A receiver that answers what it is told, and notes the calls and the waits between them."""

    def __init__(self, *answers: int | OSError, **options: int) -> None:
        self.answers = [*answers]
        self.calls = []
        self.waits = []
        self.events = []
        self.held = asyncio.Event()
        self.held.set()
        self.caller = WebhookCaller(self._fetch, self.events.append, self._sleep, **options)

    async def _fetch(self, wanted):
        self.calls.append(wanted)
        await self.held.wait()
        answer = self.answers.pop(0) if self.answers else 200
        if isinstance(answer, OSError):
            raise answer
        return Fetched(answer, b"")

    async def _sleep(self, seconds):
        self.waits.append(seconds)

    async def call(self, *hooks):
        self.caller.queue(ObjectUsed(hooks, "site", "GET", BODY))
        await self.caller.close(5)


async def test_a_webhook_gets_the_body_and_its_headers():
    """As JSON, by its method, with secrets."""
    world = _World()
    await world.call(HOOK)
    (call,) = world.calls
    assert (call.method, call.url, call.timeout, json.loads(call.body)) == ("POST", "http://hooks.example/", 10.0, BODY)
    assert call.headers == {"h1": "v1", "Authorization": "s3", "Content-Type": "application/json"}
    assert world.events == [WebhookCalled("site", "GET", "ok")]


async def test_webhooks_of_an_event_are_called_in_order():
    """Even if the first fails."""
    world = _World(400)
    await world.call(Webhook("http://a/"), Webhook("http://b/"))
    assert [each.url for each in world.calls] == ["http://a/", "http://b/"]
    assert [each.outcome for each in world.events] == ["failed", "ok"]


@pytest.mark.parametrize(
    ("answers", "calls", "outcome"),
    [
        ([OSError("no"), 503, 200], 3, "ok"),
        ([500, 429, 502, 504], 4, "failed"),
        ([404], 1, "failed"),
        ([302], 1, "failed"),
        ([201], 1, "ok"),
    ],
)
async def test_a_call_that_may_succeed_later_is_repeated(answers, calls, outcome):
    """Not one that the receiver refused, and no redirect is followed."""
    world = _World(*answers)
    await world.call(Webhook("http://a/", retry_count=3))
    assert (len(world.calls), world.events) == (calls, [WebhookCalled("site", "GET", outcome)])


async def test_waits_grow_up_to_the_longest():
    """Each is between half and all of its time."""
    world = _World(*[500] * 6)
    await world.call(Webhook("http://a/", retry_count=5, default_wait_time=1, max_wait_time=5))
    assert all(most / 2 <= wait <= most for wait, most in zip(world.waits, [1, 2, 4, 5, 5], strict=True))


async def test_a_full_queue_drops():
    """What cannot be kept is counted, and nobody waits."""
    world = _World(most_queued=1)
    world.held.clear()
    for _ in range(WORKERS):
        world.caller.queue(ObjectUsed((HOOK,), "site", "GET", BODY))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    for _ in range(3):
        world.caller.queue(ObjectUsed((HOOK, HOOK), "site", "GET", BODY))
    assert world.events == [WebhookCalled("site", "GET", "dropped")] * 4
    world.held.set()
    await world.caller.close(5)
    assert len(world.calls) == WORKERS + 2


async def test_the_end_waits_only_so_long():
    """A receiver that hangs does not delay the end."""
    world = _World()
    world.held.clear()
    world.caller.queue(ObjectUsed((HOOK,), "site", "GET", BODY))
    await world.caller.close(0.01)
    assert world.events == []


async def test_a_defect_stops_no_worker():
    """The next event is worked on."""
    world = _World(RuntimeError("boom"))
    world.answers = []
    boom = ObjectUsed((HOOK,), "site", "GET", {"x": object()})
    for _ in range(WORKERS):
        world.caller.queue(boom)
    await world.call(HOOK)
    assert world.events == [WebhookCalled("site", "GET", "ok")]


async def test_events_of_a_bus_are_called():
    """The caller listens to what was done with objects."""
    world, bus = _World(), Bus()
    world.caller.listen(bus)
    bus.emit(ObjectUsed((HOOK,), "site", "GET", BODY))
    await world.caller.close(5)
    assert len(world.calls) == 1
