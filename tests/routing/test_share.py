"""The place of a client in the order in which clients get an edit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.routing.share import place_of


@given(st.text(), st.text())
def test_a_place_is_a_part_of_one(client, digest):
    """The whole share, 1, covers every client, and an empty one none."""
    assert 0 <= place_of(client, digest) < 1


def test_a_share_has_about_its_part_of_the_clients():
    """A client keeps its place for an edit, and gets another for the next."""
    clients = [f"10.0.{number // 250}.{number % 250}" for number in range(5000)]
    first = {client for client in clients if place_of(client, "one") < 0.05}
    other = {client for client in clients if place_of(client, "two") < 0.05}
    assert 180 < len(first) < 320
    assert len(first & other) < 60
    assert first == {client for client in clients if place_of(client, "one") < 0.05}
