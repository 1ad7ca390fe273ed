"""The status page, held by a golden file; `UPDATE_GOLDEN=1` writes it anew."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from overviews import FAILED, NOW, STATE, overview

from tornado_proxy.pages.status import (
    HEIGHT,
    WIDTH,
    Chart,
    ChartLine,
    Explanation,
    RewriteRow,
    RewriteTable,
    StatusPages,
)


def _chart(*points, style="area"):
    return Chart("Requests", (ChartLine("all", style, points),), 0.0, 100.0, lambda value: f"{value:g}/s")


def _numbers(svg):
    (path,) = re.findall(r'class="line [a-z]+" d="([^"]+)"', svg)
    return [tuple(map(float, pair.split())) for pair in re.findall(r"[-\d.]+ [-\d.]+", path)]


def test_values_go_from_left_to_right_and_from_the_bottom_to_the_top():
    """The start is the left edge, zero the bottom, and the highest value just below the top."""
    assert _numbers(_chart((0, 0.0), (50, 2.0), (100, 4.0)).svg) == [(0, HEIGHT - 1), (WIDTH / 2, 37.5), (WIDTH, 4)]


def test_a_missing_value_is_a_gap():
    """Two runs of values are two paths, each with its area."""
    svg = _chart((0, 1.0), (10, 2.0), (20, None), (30, 1.0), (40, 1.0)).svg
    assert (svg.count('class="line area"'), svg.count('class="fill area"')) == (2, 2)


def test_a_single_value_is_a_dot():
    """It is a line of length zero with a visible round cap."""
    assert 'h0"' in _chart((50, 1.0), style="bad").svg


def test_only_an_area_is_filled():
    """Lines that lie above an area do not hide it."""
    assert "fill bad" not in _chart((0, 1.0), (10, 2.0), style="bad").svg


def test_nothing_is_drawn_where_all_is_zero_but_the_line():
    """Zero lies at the bottom; nothing is divided by it."""
    chart = _chart((0, 0.0), (100, 0.0))
    assert _numbers(chart.svg) == [(0, HEIGHT - 1), (WIDTH, HEIGHT - 1)]
    assert chart.peak == ""


def test_the_label_says_what_the_lines_show():
    """Screen readers speak the newest values and the highest."""
    assert 'aria-label="Requests: all 2/s; at most 8/s"' in _chart((0, 8.0), (10, 2.0)).svg


def test_the_legend_has_the_newest_value_of_each_line():
    """A missing value is a dash."""
    assert _chart((0, 1.0), (10, 3.0)).legend == (("all", "area", "3/s"),)
    assert _chart((0, 1.0), (10, None)).legend == (("all", "area", "\N{EN DASH}"),)
    assert _chart().legend == (("all", "area", "\N{EN DASH}"),)


def test_a_title_is_text():
    """Names of lines and titles cannot close the attribute."""
    chart = Chart('"><x', (), 0.0, 1.0, str)
    assert "><x" not in chart.svg.replace("/><", "")


GOLDEN = Path(__file__).parent / "golden" / "status.html"


@pytest.fixture(scope="module")
def pages():
    """The pages."""
    return StatusPages()


def _rendered(pages, **more) -> str:
    return pages.render(overview(**more)).decode()


def test_the_page_looks_as_it_did(pages):
    """A page with all its parts is the golden file's text, except for digests in names of files."""
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
    """A path with markup and a control character is shown as text."""
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
    """It is at the top of the page."""
    assert f">{shown}</span>" in _rendered(pages, state=STATE | change)


def test_a_process_without_requests_has_a_page(pages):
    """Its sections contain a sentence instead of a table."""
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
    """The age has the largest unit, and the exact time as its title."""
    assert shown in _rendered(pages, started=NOW - seconds, reloads=(), refused=())
