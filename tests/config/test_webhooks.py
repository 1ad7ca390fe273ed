from __future__ import annotations

import pytest
from configurations import MINIMAL, complaints_about_target, report, settings, target

from tornado_proxy.config.webhooks import Tracing, Webhook

HOOK = "url: https://hooks.example/x"


def _get(hook):
    return f"actions: {{GET: {{config: {{webhooks: [{{{hook}}}]}}}}}}"


def test_a_webhook_has_defaults():
    """POST, no repetition, ten seconds."""
    assert target(_get(HOOK)).actions.get.webhooks == (Webhook("https://hooks.example/x"),)


def test_a_webhook_is_read():
    """Secrets of headers are references."""
    more = f"{HOOK}, method: PUT, headers: {{A: b}}, secretHeaders: {{Authorization: {{env: SECRET}}}}, retryCount: 2"
    (found,) = target(_get(more)).actions.get.webhooks
    assert (found.method, found.headers, found.retry_count) == ("PUT", (("A", "b"),), 2)
    ((name, secret),) = found.secret_headers
    assert (name, secret.reveal()) == ("Authorization", "secret")
    assert "'secret'" not in repr(found)


@pytest.mark.parametrize("action", ["GET", "HEAD", "PUT", "DELETE"])
def test_each_action_has_webhooks_of_its_own(action):
    """Named after it."""
    found = target(f"actions: {{{action}: {{enabled: true, config: {{webhooks: [{{{HOOK}}}]}}}}}}")
    assert len(getattr(found.actions, action.lower()).webhooks) == 1


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        ("method: POST", "`webhooks` lacks `url`"),
        ("url: nowhere", "is not a URL"),
        (f"{HOOK}, method: GET", "`method`"),
        (f"{HOOK}, headers: {{'a b': c}}", "cannot be `a b`"),
        (f'{HOOK}, headers: {{a: "b\\nc"}}', "contains a control character"),
        (f"{HOOK}, timeout: 0", "is less than"),
    ],
)
def test_a_mistake_is_found(hook, message):
    """Each is an error."""
    assert any(message in each for _, each in complaints_about_target(_get(hook))), complaints_about_target(_get(hook))


def test_a_secret_that_stands_in_the_file_is_not_shown():
    """Not even next to a mistake."""
    text = f"targets: {{site: {{bucket: {{name: my-bucket}}, {_get(f'{HOOK}, secretHeaders: {{A: hunter2}}')}}}}}\n"
    assert "hunter2" not in report(text)


def test_tracing_is_off_unless_it_is_configured():
    """Only the end point is needed."""
    assert settings(MINIMAL).tracing is None
    assert settings("tracing: {endpoint: 'http://127.0.0.1:4318/v1/traces'}\n" + MINIMAL).tracing == Tracing(
        "http://127.0.0.1:4318/v1/traces"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "lacks `endpoint`"),
        ("{endpoint: here}", "is not a URL"),
        ("{endpoint: 'http://x/', sampledPercent: 101}", "sampledPercent"),
    ],
)
def test_tracing_a_mistake_is_found(text, message):
    """Each is shown at its place."""
    assert message in report(f"tracing: {text}\n{MINIMAL}")
