"""Charts as SVG."""

from __future__ import annotations

import re

from tornado_proxy.pages.charts import HEIGHT, WIDTH, Chart, ChartLine


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
    """A line of no length, which its round end makes visible."""
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
    """Who cannot see the drawing hears the newest values and the highest."""
    assert 'aria-label="Requests: all 2/s; at most 8/s"' in _chart((0, 8.0), (10, 2.0)).svg


def test_the_legend_has_the_newest_value_of_each_line():
    """A dash where there is none."""
    assert _chart((0, 1.0), (10, 3.0)).legend == (("all", "area", "3/s"),)
    assert _chart((0, 1.0), (10, None)).legend == (("all", "area", "\N{EN DASH}"),)
    assert _chart().legend == (("all", "area", "\N{EN DASH}"),)


def test_a_title_is_text():
    """Names of lines and titles cannot close the attribute."""
    chart = Chart('"><x', (), 0.0, 1.0, str)
    assert "><x" not in chart.svg.replace("/><", "")
