from __future__ import annotations

import pytest
from configurations import MINIMAL, report, settings

from tornado_proxy.config.tracing import Tracing


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
def test_a_mistake_is_found(text, message):
    """Each is shown at its place."""
    assert message in report(f"tracing: {text}\n{MINIMAL}")
