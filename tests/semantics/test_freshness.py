"""How long a shared cache may use an answer again."""

from __future__ import annotations

from math import inf

import pytest

from tornado_proxy.semantics.freshness import freshness

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


@pytest.mark.parametrize(
    ("cache_control", "expires", "seconds"),
    [
        (None, None, inf),
        ("", None, inf),
        ("public", None, inf),
        ("max-age=60", None, 60),
        ("MAX-AGE=60", None, 60),
        ('max-age="60"', None, 60),
        ("public,max-age=60 , must-revalidate", None, 60),
        ("max-age=60, s-maxage=5", None, 5),
        ("max-age=0", None, 0),
        ("max-age=soon", None, 0),
        ("max-age=-1", None, 0),
        ("max-age=²", None, 0),
        ("max-age", None, 0),
        ("max-age=" + "9" * 5000, None, inf),
        ("no-cache", None, 0),
        ('no-cache="Set-Cookie"', None, 0),
        ("no-cache, max-age=60", None, 0),
        ("no-store", None, None),
        ("private", None, None),
        ('max-age=60, private="X-A, X-B"', None, None),
        ('extension="no-store"', None, inf),
        (None, "Tue, 14 Nov 2023 22:14:20 GMT", 60),
        (None, "Tue, 14 Nov 2023 22:12:20 GMT", 0),
        (None, "0", 0),
        ("max-age=5", "Tue, 14 Nov 2023 22:14:20 GMT", 5),
        ("no-store", "Tue, 14 Nov 2023 22:14:20 GMT", None),
    ],
)
def test_the_headers_say_how_long(cache_control, expires, seconds):
    """Seconds by s-maxage, max-age or Expires, in that order; none where it may not be kept at all."""
    assert freshness(cache_control, expires, NOW) == seconds


def test_a_long_header_is_read_in_linear_time():
    """What a writer of objects can make long costs no more than its length."""
    assert freshness("a=" * 100_000 + '"' * 100_000, None, NOW) == inf
