from __future__ import annotations

import pytest
from conversions import target

from tornado_proxy.config.webhooks import Webhook
from tornado_proxy.tools.convert.report import OptionOutcome


@pytest.mark.parametrize("action", ["GET", "HEAD", "PUT", "DELETE"])
def test_webhooks_are_carried_over(action):
    """Each action has its own."""
    hook = "{method: PUT, url: 'http://hooks.example/x', headers: {h1: v1}, secretHeaders: {authorization: {env: TOKEN}}, retryCount: 2, defaultWaitTime: 1s, maxWaitTime: 1m30s}"
    config = f"{{allowOverride: true, webhooks: [{hook}]}}" if action == "PUT" else f"{{webhooks: [{hook}]}}"
    done = target(f"actions: {{{action}: {{enabled: true, config: {config}}}}}")
    (found,) = getattr(done.settings.targets[0].actions, action.lower()).webhooks
    assert (found.method, found.url, found.headers) == ("PUT", "http://hooks.example/x", (("h1", "v1"),))
    assert [name for name, _ in found.secret_headers] == ["authorization"]
    assert (found.retry_count, found.default_wait_time, found.max_wait_time) == (2, 1.0, 90.0)
    assert done.messages(OptionOutcome.LEFT_OUT) == []


def test_waits_have_the_defaults_of_s3_proxy():
    """100 ms, and two seconds at most."""
    done = target("actions: {GET: {enabled: true, config: {webhooks: [{method: POST, url: 'http://x/'}]}}}")
    assert done.settings.targets[0].actions.get.webhooks == (Webhook("http://x/"),)


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        ("{url: 'http://x/'}", "it has the method ``"),
        ("{method: POST, url: nowhere}", "it is not a URL"),
        (
            "{method: POST, url: 'http://x/', maxWaitTime: 25h}",
            "it has the maxWaitTime `25h`, which is not within a day",
        ),
    ],
)
def test_a_webhook_that_cannot_be_here_is_left_out(hook, message):
    """The report says what it was."""
    done = target(f"actions: {{GET: {{enabled: true, config: {{webhooks: [{hook}]}}}}}}")
    assert done.messages(OptionOutcome.LEFT_OUT) == [f"a webhook is left out: {message}"]
