"""What every line of a log is made of."""

from __future__ import annotations

import json
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.telemetry.lines import harmless, json_line, moment, quoted

TEXTS = st.text(st.characters(exclude_categories=[]))


def test_times_are_in_utc():
    """To the millisecond, with `Z`."""
    assert moment(1714566896.5) == "2024-05-01T12:34:56.500Z"


@given(TEXTS)
def test_nothing_ends_a_line_or_steers_a_terminal(text):
    """Whatever a text holds, it is printable."""
    assert harmless(text).isprintable()
    assert quoted(text).isprintable()


@given(TEXTS)
def test_a_quoted_text_reads_back(text):
    """Escapes are JSON's own."""
    assert json.loads(quoted(text)).encode("utf-16", "surrogatepass") == text.encode("utf-16", "surrogatepass")


def test_what_is_printable_stays():
    """Scripts, quotes and backslashes of a message are as they were."""
    assert harmless('größe "日本" \\d+ 😀') == 'größe "日本" \\d+ 😀'


def test_values_keep_their_types():
    """A line of JSON has texts, numbers, truth and nothing."""
    line = {"a": "\n", "b": 1, "c": 1.5, "d": True, "e": None}
    assert json_line(line) == '{"a": "\\n", "b": 1, "c": 1.5, "d": true, "e": null}'


SHORT = """
import resource
import tornado_proxy.telemetry.lines as lines
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
print(lines.quoted("a\\U000e0001\\n"))
"""


def test_no_file_is_needed_to_write_a_line():
    """With no descriptor left a line is escaped all the same."""
    ended = subprocess.run([sys.executable, "-c", SHORT], capture_output=True, text=True, check=True)
    assert ended.stdout == '"a\\udb40\\udc01\\n"\n'
