from __future__ import annotations

import pytest

from tornado_proxy.semantics.sizes import human_size


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1024**2 - 1, "1.0 MiB"),
        (1024**2 - 52, "1023.9 KiB"),
        (1024**2, "1.0 MiB"),
        (5 * 1024**3, "5.0 GiB"),
        (5 * 1024**4, "5.0 TiB"),
        (2**63 - 1, "8.0 EiB"),
        (2**80, "1048576.0 EiB"),
    ],
)
def test_a_size_is_shown_in_the_unit_that_suits_it(size, expected):
    """A size has one decimal and the largest unit that leaves something before the point."""
    assert human_size(size) == expected
