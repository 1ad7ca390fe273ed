"""The status page is compared with a golden file; `UPDATE_GOLDEN=1` writes this again."""

import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from overviews import FAILED, NOW, STATE, overview

from tornado_proxy.admin.status import Chart, ChartLine, Explanation, PathStep, RewriteRow, StatusPages, _environment
from tornado_proxy.pages.listing import human_size


def _chart(*points, style="area"):
    return Chart("Requests", (ChartLine("all", style, points),), 0.0, 100.0, lambda value: f"{value:g}/s")


def _svg(name, *arguments):
    return str(getattr(_environment().get_template("charts.jinja").module, name)(*arguments))


def _coordinates(svg):
    (path,) = re.findall(r'class="line [a-z]+" d="([^"]+)"', svg)
    return [tuple(map(float, pair.split())) for pair in re.findall(r"[-\d.]+ [-\d.]+", path)]


@pytest.mark.parametrize(
    ("points", "coordinates", "peak"),
    [
        (((0, 0.0), (50, 2.5), (100, 5.0)), [(0, 71), (150, 36), (300, 1)], "5/s"),
        (((0, 0.0), (100, 0.0)), [(0, 71), (300, 71)], ""),
    ],
)
def test_values_have_coordinates(points, coordinates, peak):
    """The start is the left edge, zero the bottom, and the upper end of the axis just below the top."""
    chart = _chart(*points)
    assert (_coordinates(_svg("lines", chart)), chart.peak) == (coordinates, peak)


@pytest.mark.parametrize(
    ("in_bytes", "top", "axis"),
    [
        *((False, 0.0, "0, 0.5, 1"), (False, 0.7, "0, 0.5, 1"), (False, 1.0, "0, 0.5, 1")),
        *((False, 3, "0, 2.5, 5"), (False, 12, "0, 10, 20")),
        *((True, 0.0, "0 B, 0 B, 1 B"), (True, 700.0, "0 B, 500 B, 1000 B")),
        *((True, 116_000.0, "0 B, 100.0 KiB, 200.0 KiB"), (True, 3_000_000.0, "0 B, 2.5 MiB, 5.0 MiB")),
    ],
)
def test_an_axis_ends_at_a_round_value(in_bytes, top, axis):
    """At 1, 2 or 5 times a power of ten, of a binary unit for bytes; it names its ends and its middle, as they are shown."""
    shown = (lambda value: human_size(round(value))) if in_bytes else "{:g}".format
    chart = Chart("t", (ChartLine("all", "area", [(0, top)]),), 0.0, 1.0, shown, in_bytes=in_bytes)
    assert ", ".join(chart.axis) == axis


def test_hits_are_bars():
    """The hits of a rewrite in the last minutes are bars as high as the highest, and named for screen readers."""
    svg = _svg("bars", (0, 2, 4))
    assert 'aria-label="hits a minute, the last 3: 0, 2, 4"' in svg
    assert 'd="M6 20v-10.0h5V20zM12 20v-20.0h5V20z"' in svg


@pytest.mark.parametrize(
    ("chart", "expected"),
    [
        (_chart((50, 1.0), style="bad"), 'h0"'),
        (_chart((0, 8.0), (10, 2.0)), 'aria-label="Requests: all 2/s; at most 8/s"'),
    ],
    ids=["a single value is a line of length zero with a round cap", "the label for screen readers has the values"],
)
def test_a_chart_shows_its_values(chart, expected):
    """For every reader, and however few there are."""
    assert expected in _svg("lines", chart)


def test_a_missing_value_is_a_gap():
    """Two runs of values are two paths, each with its own area; only the style `area` is filled, to hide no other line."""
    points = ((0, 1.0), (10, 2.0), (20, None), (30, 1.0), (40, 1.0))
    for style, fills in (("area", 2), ("bad", 0)):
        svg = _svg("lines", _chart(*points, style=style))
        assert (svg.count(f'class="line {style}"'), svg.count(f'class="fill {style}"')) == (2, fills)


def test_the_legend_has_the_newest_value_of_each_line():
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
    tags = _Tags()
    tags.feed(_render(pages, state=STATE | {"lastFailedAttempt": FAILED}))
    ids = [values["id"] for _, values in tags.found if "id" in values]
    assert len(ids) == len(set(ids))
    labels = [values["aria-labelledby"] for _, values in tags.found if "aria-labelledby" in values]
    assert set(labels) <= set(ids)


FAILING = {"severity": "warning", "message": "`/a` becomes `/b`", "file": "a.rules", "line": 3, "column": 5}
STEP = PathStep("rewrite", (((r"^/(", None), ("<b>", 1)),), "good")
NOTHING = {
    "charts": (Chart("Requests", (ChartLine("all", "area", ()),), NOW - 900, NOW, str),),
    "used": ((), 0),
    "unused": ((), 0),
    **dict.fromkeys(("targets", "reloads", "errors"), ()),
}
AGES = {0: "now", 1: "1 s ago", 59: "59 s ago", 60: "1 min ago", 7200: "2 h ago", 86400 * 12: "12 d ago"}


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({}, [">Serving</span>", "/&lt;script&gt;\N{SYMBOL FOR BELL}"]),
        ({"state": STATE | {"ready": False}}, [">Not serving</span>"]),
        ({"state": STATE | {"lastFailedAttempt": FAILED}}, [">Serving, edit refused</span>"]),
        ({"state": STATE | {"failingTests": [FAILING]}}, ['<span class="pill warn">Serving, a rule test fails</span>']),
        ({"state": STATE | {"failingTests": [FAILING]}}, ["<code>a.rules:3:5</code> <code>/a</code> becomes <code>/b"]),
        ({"ignoring": frozenset({"site"})}, ["Uploads to target <code>site</code> fail", "bucket.conditionalWrites"]),
        ({"explanation": Explanation("GET /", (), (STEP,))}, ['"line">^/(<mark class="g1">&lt;b&gt;</mark></span>']),
        (NOTHING, ["nothing yet", "No request was refused.", "There are no rewrites."]),
        *((NOTHING | {"started": NOW - seconds}, [f">{age}<"]) for seconds, age in AGES.items()),
    ],
)
def test_what_is_known_is_shown(pages, fields, shown):
    """The page has the state of the service in words, texts of clients escaped, and ages in the largest suitable unit."""
    page = _render(pages, **fields)
    assert [each for each in shown if each not in page] == []
    assert "<script>" not in page
    assert ("bucket.conditionalWrites" in page) == ("ignoring" in fields)


def test_omitted_rewrites_are_counted(pages):
    row = RewriteRow("site", 1, None, "rewrite", "^/a/", "/x", "site.rules:1:1", 0)
    page = _render(pages, unused=((row,) * 50, 10000))
    assert "and 9,950 more" in page
    assert len(page) < 60_000
