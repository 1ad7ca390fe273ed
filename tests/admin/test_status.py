"""The status page is compared with a golden file; `UPDATE_GOLDEN=1` writes this again."""

import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from overviews import FAILED, NOW, STATE, overview

from tornado_proxy.admin.status import (
    Chart,
    ChartLine,
    Explanation,
    PathStep,
    RewriteRow,
    RewriteTable,
    StatusPages,
    _environment,
)
from tornado_proxy.pages.listing import human_size


def _chart(*points, style="area"):
    return Chart("Requests", (ChartLine("all", style, points),), 0.0, 100.0, lambda value: f"{value:g}/s")


def _svg(name, *arguments):
    return str(getattr(_environment().get_template("charts.jinja").module, name)(*arguments))


def _coordinates(svg):
    (path,) = re.findall(r'class="line [a-z]+" d="([^"]+)"', svg)
    return [tuple(map(float, pair.split())) for pair in re.findall(r"[-\d.]+ [-\d.]+", path)]


def test_values_have_coordinates():
    """The start is the left edge, zero the bottom, and the upper end of the axis just below the top."""
    assert _coordinates(_svg("lines", _chart((0, 0.0), (50, 2.5), (100, 5.0)))) == [(0, 71), (150, 36), (300, 1)]


@pytest.mark.parametrize(
    ("top", "axis"), [(0.0, "0 0.5 1"), (0.7, "0 0.5 1"), (1.0, "0 0.5 1"), (3, "0 2.5 5"), (12, "0 10 20")]
)
def test_an_axis_ends_at_a_round_value(top, axis):
    """The axis ends at 1, 2 or 5 times a power of ten, and names its ends and its middle."""
    chart = Chart("t", (ChartLine("all", "area", [(0, top)]),), 0.0, 1.0, lambda value: f"{value:g}")
    assert " ".join(chart.axis) == axis


@pytest.mark.parametrize(
    ("top", "axis"),
    [
        (0.0, ("0 B", "0 B", "1 B")),
        (700.0, ("0 B", "500 B", "1000 B")),
        (116_000.0, ("0 B", "100.0 KiB", "200.0 KiB")),
        (3_000_000.0, ("0 B", "2.5 MiB", "5.0 MiB")),
    ],
)
def test_an_axis_of_bytes_ends_at_a_round_number_of_a_binary_unit(top, axis):
    """The ends and the middle are round as they are shown, not as numbers of bytes."""
    lines = (ChartLine("sent", "area", [(0, top)]),)
    chart = Chart("t", lines, 0.0, 1.0, lambda value: human_size(round(value)), in_bytes=True)
    assert chart.axis == axis


def test_hits_are_bars():
    """The hits of a rewrite in the last minutes are bars as high as the highest, and named for screen readers."""
    svg = _svg("bars", (0, 2, 4))
    assert 'aria-label="hits a minute, the last 3: 0, 2, 4"' in svg
    assert 'd="M6 20v-10.0h5V20zM12 20v-20.0h5V20z"' in svg


def test_a_failing_rule_test_is_shown(pages):
    """The state is not good while a rule test fails, and the page names the test."""
    failing = {"severity": "warning", "message": "`/a` becomes `/b`", "file": "a.rules", "line": 3, "column": 5}
    html = _render(pages, state=STATE | {"failingTests": [failing]})
    assert '<span class="pill warn">Serving, a rule test fails</span>' in html
    assert "<code>a.rules:3:5</code> <code>/a</code> becomes <code>/b</code>" in html


def test_the_path_of_a_request_has_its_groups_in_colour(pages):
    """A piece that belongs to a group is marked with the colour of the group."""
    step = PathStep("rewrite", (((r"^/(", None), ("<b>", 1)),), "good")
    html = _render(pages, explanation=Explanation("GET /", (), (step,)))
    assert '<span class="line">^/(<mark class="g1">&lt;b&gt;</mark></span>' in html


def test_a_missing_value_is_a_gap():
    """Two runs of values are two paths, each with its own area."""
    svg = _svg("lines", _chart((0, 1.0), (10, 2.0), (20, None), (30, 1.0), (40, 1.0)))
    assert (svg.count('class="line area"'), svg.count('class="fill area"')) == (2, 2)


def test_a_single_value_is_a_dot():
    """A single value is a line of length zero, which has a visible round cap."""
    assert 'h0"' in _svg("lines", _chart((50, 1.0), style="bad"))


def test_only_an_area_is_filled():
    """Only the style `area` is filled, so that other lines do not hide it."""
    assert "fill bad" not in _svg("lines", _chart((0, 1.0), (10, 2.0), style="bad"))


def test_zeros_are_a_line_at_the_bottom():
    """A chart without a positive value has a line and no peak."""
    chart = _chart((0, 0.0), (100, 0.0))
    assert _coordinates(_svg("lines", chart)) == [(0, 71), (300, 71)]
    assert chart.peak == ""


def test_the_label_has_the_values():
    """The label for screen readers has the newest values and the highest."""
    assert 'aria-label="Requests: all 2/s; at most 8/s"' in _svg("lines", _chart((0, 8.0), (10, 2.0)))


def test_the_legend_has_the_newest_value_of_each_line():
    """A missing value is a dash."""
    assert _chart((0, 1.0), (10, 3.0)).legend == (("all", "area", "3/s", "1/s to 3/s"),)
    assert _chart((0, 1.0), (10, None)).legend == (("all", "area", "\N{EN DASH}", ""),)
    assert _chart().legend == (("all", "area", "\N{EN DASH}", ""),)


def test_a_title_is_escaped():
    """A title cannot end its attribute."""
    chart = Chart('"><x', (), 0.0, 1.0, str)
    assert "><x" not in _svg("lines", chart).replace("/><", "")


GOLDEN = Path(__file__).parent / "golden" / "status.html"


@pytest.fixture(scope="module")
def pages():
    """The compiled templates of the status page."""
    return StatusPages()


def _render(pages, **fields) -> str:
    return pages.render(overview(**fields)).decode()


def test_the_page_equals_its_golden_file(pages):
    """A page with all its parts equals the golden file, except for digests in names of files."""
    explanation = Explanation(
        "GET /<a>\n", (("rewrites", [("·", "#1", "^/b"), ("", "1 more, not tried")]), ("plan", []))
    )
    state = STATE | {"lastFailedAttempt": FAILED, "lastGoodTrouble": "`/var/x` is full"}
    html = _render(pages, state=state, asked={"path": "/<a>", "user": "ann"}, explanation=explanation)
    html = re.sub(r"status\.[0-9a-f]{16}\.", "status.0.", html)
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(html)
    assert html == GOLDEN.read_text()


class _Tags(HTMLParser):
    """The start tags of a page with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attrs):
        """Record a tag."""
        self.found.append((tag, dict(attrs)))


def test_nothing_is_inline_or_from_another_origin(pages):
    """The page has no inline script, style or handler, and every address is relative, for proxies that take off a path."""
    tags = _Tags()
    tags.feed(_render(pages))
    attributes = [pair for _, values in tags.found for pair in values.items()]
    assert "style" not in [tag for tag, _ in tags.found]
    assert [name for name, _ in attributes if name == "style" or name.startswith("on")] == []
    addresses = [value for name, value in attributes if name in ("src", "href", "action")]
    assert [address for address in addresses if urlsplit(address).scheme not in ("", "data") or address[0] == "/"] == []
    assert all(values.get("src") for tag, values in tags.found if tag == "script")


def test_every_id_is_unique(pages):
    """Every id is unique, and every label refers to an existing one."""
    tags = _Tags()
    tags.feed(_render(pages, state=STATE | {"lastFailedAttempt": FAILED}))
    ids = [values["id"] for _, values in tags.found if "id" in values]
    assert len(ids) == len(set(ids))
    labels = [values["aria-labelledby"] for _, values in tags.found if "aria-labelledby" in values]
    assert set(labels) <= set(ids)


def test_the_path_of_a_request_is_escaped(pages):
    """A path with markup and a control character is shown as text."""
    page = _render(pages)
    assert "/&lt;script&gt;\N{SYMBOL FOR BELL}" in page
    assert "<script>" not in page


def test_omitted_rewrites_are_counted(pages):
    """The page has the number of omitted rewrites, and stays small."""
    row = RewriteRow("site", 1, None, "rewrite", "^/a/", "/x", "site.rules:1:1", 0)
    page = _render(pages, unused=RewriteTable((row,) * 50, 10000))
    assert "and 9,950 more" in page
    assert len(page) < 60_000


@pytest.mark.parametrize(
    ("change", "expected"),
    [({}, "Serving"), ({"ready": False}, "Not serving"), ({"lastFailedAttempt": FAILED}, "Serving, edit refused")],
)
def test_the_state_is_shown(pages, change, expected):
    """The page has the state of the service in words."""
    assert f">{expected}</span>" in _render(pages, state=STATE | change)


def test_a_target_whose_uploads_fail_is_a_problem(pages):
    """The page says which option is for an S3 that ignores the conditions of uploads."""
    assert "bucket.conditionalWrites" not in _render(pages)
    assert "Uploads to target <code>site</code> fail" in _render(pages, ignoring=frozenset({"site"}))


def test_an_empty_page_has_notes(pages):
    """Empty sections contain a sentence instead of a table."""
    empty = Chart("Requests", (ChartLine("all", "area", ()),), NOW - 900, NOW, str)
    page = _render(
        pages, charts=(empty,), targets=(), used=RewriteTable(), unused=RewriteTable(), reloads=(), errors=()
    )
    assert "nothing yet" in page
    assert "No request was refused." in page
    assert "There are no rewrites." in page


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, ">now<"),
        (1, ">1 s ago<"),
        (59, ">59 s ago<"),
        (60, ">1 min ago<"),
        (7200, ">2 h ago<"),
        (86400 * 12, ">12 d ago<"),
    ],
)
def test_the_start_is_shown_by_its_age(pages, seconds, expected):
    """The age has the largest suitable unit."""
    assert expected in _render(pages, started=NOW - seconds, reloads=(), errors=())
