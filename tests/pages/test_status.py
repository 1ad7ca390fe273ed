"""The status page, held by a golden file; `UPDATE_GOLDEN=1` writes it anew."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from overviews import FAILED, NOW, STATE, overview

from tornado_proxy.pages.charts import Chart, ChartLine
from tornado_proxy.pages.status import Explanation, RewriteRow, RewriteTable, StatusPages

GOLDEN = Path(__file__).parent / "golden" / "status.html"


@pytest.fixture(scope="module")
def pages():
    """The pages."""
    return StatusPages()


def _rendered(pages, **more) -> str:
    return pages.render(overview(**more)).decode()


def test_the_page_looks_as_it_did(pages):
    """A page with everything that it may show is the golden file's text, but for the names of its files."""
    explanation = Explanation(
        "GET /<a>\n", (("rewrites", [("·", "#1", "^/b"), ("", "1 more, not tried")]), ("plan", []))
    )
    state = STATE | {"lastFailedAttempt": FAILED, "lastGoodTrouble": "`/var/x` is full"}
    found = _rendered(pages, state=state, asked={"path": "/<a>", "user": "ann"}, explanation=explanation)
    found = re.sub(r"status\.[0-9a-f]{16}\.", "status.0.", found)
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(found)
    assert found == GOLDEN.read_text()


class _Tags(HTMLParser):
    """The tags and the attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attrs):
        """Note a tag."""
        self.found.append((tag, dict(attrs)))


def test_nothing_is_inline_and_nothing_comes_from_elsewhere(pages):
    """No script or style stands in the page, no attribute runs, and every address is the listener's own."""
    tags = _Tags()
    tags.feed(_rendered(pages))
    attributes = [pair for _, found in tags.found for pair in found.items()]
    assert "style" not in [tag for tag, _ in tags.found]
    assert [name for name, _ in attributes if name == "style" or name.startswith("on")] == []
    addresses = [value for name, value in attributes if name in ("src", "href", "action")]
    assert [each for each in addresses if not each.startswith(("/", "#", "data:,"))] == []
    assert all(found.get("src") for tag, found in tags.found if tag == "script")


def test_every_id_is_there_once(pages):
    """The script finds parts by their ids, and labels name them."""
    tags = _Tags()
    tags.feed(_rendered(pages, state=STATE | {"lastFailedAttempt": FAILED}))
    ids = [found["id"] for _, found in tags.found if "id" in found]
    assert len(ids) == len(set(ids))
    named = [found["aria-labelledby"] for _, found in tags.found if "aria-labelledby" in found]
    assert set(named) <= set(ids)


def test_what_a_client_chose_is_text(pages):
    """A path with markup and a control character is shown and does nothing."""
    page = _rendered(pages)
    assert "/&lt;script&gt;\N{SYMBOL FOR BELL}" in page
    assert "<script>" not in page


def test_the_rewrites_that_are_not_shown_are_counted(pages):
    """The page stays small; the JSON has the rest."""
    row = RewriteRow("site", 1, None, "^/a/", "/x", "site.rules:1:1", 0)
    page = _rendered(pages, unused=RewriteTable((row,) * 50, 10000))
    assert "and 9,950 more" in page
    assert len(page) < 60_000


@pytest.mark.parametrize(
    ("change", "shown"),
    [({}, "Serving"), ({"ready": False}, "Not serving"), ({"lastFailedAttempt": FAILED}, "Serving, edit refused")],
)
def test_the_state_is_a_word(pages, change, shown):
    """The first thing on the page."""
    assert f">{shown}</span>" in _rendered(pages, state=STATE | change)


def test_a_process_without_requests_has_a_page(pages):
    """Where nothing happened yet, the page says so."""
    empty = Chart("Requests", (ChartLine("all", "area", ()),), NOW - 900, NOW, str)
    page = _rendered(
        pages, charts=(empty,), targets=(), used=RewriteTable(), unused=RewriteTable(), reloads=(), refused=()
    )
    assert "nothing yet" in page
    assert "No request was refused." in page
    assert "There are no rewrites." in page


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, ">now<"),
        (1, ">1 s ago<"),
        (59, ">59 s ago<"),
        (60, ">1 min ago<"),
        (7200, ">2 h ago<"),
        (86400 * 12, ">12 d ago<"),
    ],
)
def test_the_start_is_shown_by_its_age(pages, seconds, shown):
    """In the largest unit, with the exact time on hover."""
    assert shown in _rendered(pages, started=NOW - seconds, reloads=(), refused=())
