"""Answers are values."""

from __future__ import annotations

from tornado_proxy.gateway.answer import Whole, page
from tornado_proxy.pages.render import Rendering


def test_a_page_is_a_whole_answer():
    """A rendering's headers come first, then those of the answer, then the length of its bytes."""
    rendering = Rendering("ä".encode(), (("Vary", "Accept"),))
    assert page(404, rendering, (("Allow", ""),)) == Whole(
        404, (("Vary", "Accept"), ("Allow", ""), ("Content-Length", "2")), "ä".encode()
    )
