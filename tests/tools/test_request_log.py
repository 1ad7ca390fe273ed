import gzip
import io
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_sites import log_of

from tornado_proxy.routing.errors import BadPath
from tornado_proxy.routing.keys import parse_request_path
from tornado_proxy.telemetry.access_log import AccessLog, LogForm
from tornado_proxy.telemetry.events import Refused, RequestRecord, Served
from tornado_proxy.tools.request_log import LoggedRequest, UnreadableLog, open_log, read_line, read_log

COMMON = '192.0.2.1 - ann [10/Oct/2025:13:55:36 +0000] "GET /a%20b?q=1 HTTP/1.1" 200 2326'


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("/a%20b?q=1", LoggedRequest("/a%20b?q=1")),
        ("https://www.example.com/a", LoggedRequest("https://www.example.com/a")),
        (COMMON, LoggedRequest("/a%20b?q=1", "GET", "", "ann")),
        (f'{COMMON} "https://ref.example/" "curl/8"', LoggedRequest("/a%20b?q=1", "GET", "", "ann")),
        (COMMON.replace(" ann ", " - "), LoggedRequest("/a%20b?q=1")),
        (f"www.example.com:443 {COMMON}", LoggedRequest("/a%20b?q=1", "GET", "www.example.com:443", "ann")),
        (COMMON.replace("GET", "DELETE"), LoggedRequest("/a%20b?q=1", "DELETE", "", "ann")),
        ('time=x method=PUT host=h path="/a \\"b\\"" user=ann', LoggedRequest("/a%20%22b%22", "PUT", "h", "ann")),
        ('{"method": "GET", "path": "/é", "host": "h"}', LoggedRequest("/%C3%A9", "GET", "h")),
        ('{"method": "GET"}', None),
        ('{"method": "GET", "path": 1}', None),
        ("[1]", None),
        ('{"broken', None),
        ('path="/a\\z" method=GET', None),
        ("2026-01-01T00:00:00Z info listening on http://127.0.0.1:8080", None),
        ('192.0.2.1 - - [10/Oct/2025:13:55:36 +0000] "\\x16\\x03" 400 0', None),
        ("", None),
    ],
)  # fmt: skip
def test_a_line_is_read_for_what_it_is(line, expected):
    """Paths, addresses, common and combined logs, our own lines in both forms; all else holds no request."""
    assert read_line(line.encode().decode("latin-1")) == expected


@pytest.mark.parametrize("form", LogForm)
@given(path=st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20))
def test_our_own_lines_are_read_as_they_were_meant(form, path):
    """Whatever path a request had, its line in the access log leads to the same path."""
    lines = []
    asked = RequestRecord("id", 0.0, "192.0.2.1", "GET", "h", f"/{path}", 1, user="ann")
    AccessLog(form, lines.append)(Served(asked, 200, 1, 0, 0.1))
    request = read_line(lines[0].encode().decode("latin-1"))
    assert request is not None
    assert (request.method, request.host, request.user) == ("GET", "h", "ann")
    assert unquote(request.address) == f"/{path}"


@pytest.mark.parametrize("form", LogForm)
@pytest.mark.parametrize("path", ["/%zz", "/a%0ab", "/%ff", "/\xe9"])
def test_a_path_that_could_not_be_decoded_is_read_as_it_was_sent(form, path):
    """Our own log tells it raw, of a request that was refused before it came to a target: it is refused again."""
    lines = []
    AccessLog(form, lines.append)(
        Refused(RequestRecord("id", 0.0, "192.0.2.1", "GET", "", path, 1), 400, 0, 0, 0.1, "why")
    )
    request = read_line(lines[0].encode().decode("latin-1"))
    assert request == LoggedRequest(path)
    with pytest.raises(BadPath):
        parse_request_path(request.address)


def test_a_path_that_was_refused_at_its_target_is_read_as_decoded():
    """What a rewrite made of it was no key, so that the path itself could be decoded."""
    assert read_line("method=GET path=/%zz status=400 target=site") == LoggedRequest("/%25zz")


@given(st.text(max_size=60))
def test_no_line_is_too_strange(line):
    """Any line is read or is not; none makes the reader fail."""
    read_line(line.encode(errors="surrogatepass").decode("latin-1"))


def test_requests_are_counted(tmp_path):
    """The same request counts once as different; strange lines are counted, with the first one's number."""
    log = tmp_path / "access.log"
    log.write_text("/a\n\n# a comment\n/b\n/a\nwhat?\nwhat else?\n")
    log = log_of(log)
    assert log.requests == {LoggedRequest("/a"): 2, LoggedRequest("/b"): 1}
    assert (log.total, log.strange, log.first_strange) == (3, 2, 6)


def test_queries_can_be_left_out(tmp_path):
    """Requests that differ by their query only are one where nothing reads it."""
    log = tmp_path / "paths"
    log.write_text("/a?x\n/a?y\n/a\n")
    with open_log(log) as file:
        assert read_log(file, lambda part: None, queries=False).requests == {LoggedRequest("/a"): 3}


def test_a_compressed_log_is_read_whatever_its_name(tmp_path):
    """Compression is known by its first bytes."""
    log = tmp_path / "access.log"
    log.write_bytes(gzip.compress(b"/a\n/b\n"))
    assert log_of(log).total == 2


@pytest.mark.parametrize(
    "content",
    [gzip.compress(b"/a\n" * 999)[:-9], gzip.compress(b"/a\n")[:12] + b"\xff" * 40],
    ids=["cut off", "overwritten"],
)
def test_a_damaged_log_says_so(tmp_path, content):
    """A compressed log that ends too early or is no longer one cannot be read."""
    log = tmp_path / "access.log.gz"
    log.write_bytes(content)
    with pytest.raises(UnreadableLog):
        log_of(log)


def test_a_log_that_is_not_there_says_so(tmp_path):
    """The reason is the system's."""
    with pytest.raises(UnreadableLog, match="No such file"):
        log_of(tmp_path / "nothing")


def test_standard_input_is_a_hyphen(tmp_path, monkeypatch):
    """`-` is read from the process's standard input."""
    (tmp_path / "in").write_text("/a\n")
    with (tmp_path / "in").open("rb") as file:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
        assert log_of(Path("-")).total == 1


def test_progress_is_told_in_parts_of_a_file(tmp_path):
    """What is told grows, and never passes 1."""
    log = tmp_path / "paths"
    log.write_text("/a\n" * 40_000)
    told = []
    with open_log(log) as file:
        read_log(file, told.append)
    assert len(told) == 4
    assert told == sorted(told)
    assert told[0] > 0
    assert told[-1] <= 1
