import asyncio
import json

import pytest

from tornado_proxy.config.actions import Webhook
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.telemetry.events import ObjectUsed, WebhookCalled
from tornado_proxy.telemetry.limits import WEBHOOK_WORKERS
from tornado_proxy.telemetry.webhooks import WebhookCaller
from tornado_proxy.wire.dialing import Fetched

BODY = {"action": "GET", "target": {"name": "site"}}
HOOK = Webhook(
    GuardedUrl("http://hooks.example/"), headers=(("h1", "v1"),), secret_headers=(("Authorization", Secret("x", "s3")),)
)


class _Receiver:
    """A receiver with scripted answers that records the calls, the waits between them and the events."""

    def __init__(self, *answers: int | OSError, **options: int) -> None:
        self.answers = [*answers]
        self.calls = []
        self.waits = []
        self.events = []
        self.released = asyncio.Event()
        self.released.set()
        self.caller = WebhookCaller(self._fetch, self.events.append, self._sleep, **options)

    async def _fetch(self, request):
        self.calls.append(request)
        await self.released.wait()
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
    receiver = _Receiver()
    await receiver.call(HOOK)
    (call,) = receiver.calls
    assert (call.method, call.url.reveal(), call.timeout, json.loads(call.body)) == (
        "POST",
        "http://hooks.example/",
        10.0,
        BODY,
    )
    assert call.headers == {"h1": "v1", "Authorization": "s3", "Content-Type": "application/json"}
    assert receiver.events == [WebhookCalled("site", "GET", "ok")]


async def test_webhooks_of_an_event_are_called_in_order():
    receiver = _Receiver(400)
    await receiver.call(Webhook(GuardedUrl("http://a/")), Webhook(GuardedUrl("http://b/")))
    assert [call.url.reveal() for call in receiver.calls] == ["http://a/", "http://b/"]
    assert [event.outcome for event in receiver.events] == ["failed", "ok"]


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
    """A call is repeated after a network error, 429 and 5xx; a refused call is not, and redirects are not followed."""
    receiver = _Receiver(*answers)
    await receiver.call(Webhook(GuardedUrl("http://a/"), retry_count=3))
    assert (len(receiver.calls), receiver.events) == (calls, [WebhookCalled("site", "GET", outcome)])


async def test_waits_double_up_to_a_limit():
    """Each wait doubles up to the longest, and lasts between half of its time and all of it."""
    receiver = _Receiver(*[500] * 6)
    await receiver.call(Webhook(GuardedUrl("http://a/"), retry_count=5, default_wait_time=1, max_wait_time=5))
    assert all(longest / 2 <= wait <= longest for wait, longest in zip(receiver.waits, [1, 2, 4, 5, 5], strict=True))


async def test_a_full_queue_drops_calls():
    receiver = _Receiver(most_queued=1)
    receiver.released.clear()
    for _ in range(WEBHOOK_WORKERS):
        receiver.caller.queue(ObjectUsed((HOOK,), "site", "GET", BODY))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    for _ in range(3):
        receiver.caller.queue(ObjectUsed((HOOK, HOOK), "site", "GET", BODY))
    assert receiver.events == [WebhookCalled("site", "GET", "dropped")] * 4
    receiver.released.set()
    await receiver.caller.close(5)
    assert len(receiver.calls) == WEBHOOK_WORKERS + 2


async def test_a_full_queue_is_logged_once(caplog):
    """The log says that calls are dropped, and how many were once half of the queue is free; not each of them."""
    receiver = _Receiver(most_queued=4)
    receiver.released.clear()
    for _ in range(2 * WEBHOOK_WORKERS):
        receiver.caller.queue(ObjectUsed((HOOK,), "site", "GET", BODY))
    receiver.released.set()
    await receiver.caller.close(5)
    assert [each.message for each in caplog.records] == [
        "webhooks are not called: 4 events wait, further ones are dropped",
        "webhooks are called again: 12 events were dropped",
    ]


async def test_closing_waits_for_a_limited_time():
    """A receiver that hangs doesn't delay the end of the service."""
    receiver = _Receiver()
    receiver.released.clear()
    receiver.caller.queue(ObjectUsed((HOOK,), "site", "GET", BODY))
    await receiver.caller.close(0.01)
    assert receiver.events == []


async def test_a_defect_does_not_stop_a_worker():
    """After an event that can't be sent, a worker calls the next webhook."""
    receiver = _Receiver()
    invalid_event = ObjectUsed((HOOK,), "site", "GET", {"x": object()})
    for _ in range(WEBHOOK_WORKERS):
        receiver.caller.queue(invalid_event)
    await receiver.call(HOOK)
    assert receiver.events == [WebhookCalled("site", "GET", "ok")]


async def test_no_failure_shows_the_secrets_of_a_url(caplog):
    """The log of a failed call names the webhook without user information and query."""
    receiver = _Receiver(500)
    await receiver.call(Webhook(GuardedUrl("http://ann:hush@hooks.example/a?t=hush")))
    assert "http://…@hooks.example/a?…" in caplog.text
    assert "hush" not in caplog.text
