import gzip
import io
import os
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_sites import EVERYTHING, log_of, site

from tornado_proxy.config.model import Mount
from tornado_proxy.config.providers import BasicUser, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.routing.request import BadAddress, parse_request_path
from tornado_proxy.telemetry.events import Refused, RequestRecord, Served
from tornado_proxy.telemetry.log import access_log
from tornado_proxy.templates.template import User
from tornado_proxy.tools.simulator import (
    UPLOAD,
    LoggedRequest,
    RequestDefaults,
    SimulatedAnswer,
    Simulator,
    UnreadableLog,
    in_portions,
    read_line,
    read_log,
)

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


@pytest.mark.parametrize("form", ["text", "json"])
@given(path=st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20))
def test_our_own_lines_are_read_as_they_were_meant(form, path):
    """Whatever path a request had, its line in the access log leads to the same path."""
    lines = []
    asked = RequestRecord("id", 0.0, "192.0.2.1", "GET", "h", f"/{path}", 1, user="ann")
    access_log(form, lines.append)(Served(asked, 200, 1, 0, 0.1))
    request = read_line(lines[0].encode().decode("latin-1"))
    assert request is not None
    assert (request.method, request.host, request.user) == ("GET", "h", "ann")
    assert unquote(request.address) == f"/{path}"


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("path", ["/%zz", "/a%0ab", "/%ff", "/\xe9"])
def test_a_path_that_could_not_be_decoded_is_read_as_it_was_sent(form, path):
    """Our own log has the raw path of a request that was refused before it had a target; it is refused again."""
    lines = []
    access_log(form, lines.append)(
        Refused(RequestRecord("id", 0.0, "192.0.2.1", "GET", "", path, 1), 400, 0, 0, 0.1, "why")
    )
    request = read_line(lines[0].encode().decode("latin-1"))
    assert request == LoggedRequest(path)
    with pytest.raises(BadAddress):
        parse_request_path(request.address)


def test_a_path_that_was_refused_at_its_target_is_read_as_decoded():
    """The result of a rewrite was refused, so the path itself could be decoded."""
    assert read_line("method=GET path=/%zz status=400 target=site") == LoggedRequest("/%25zz")


@given(st.text(max_size=60))
def test_no_line_is_too_strange(line):
    """No line makes the reader fail."""
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
    assert read_log(log, lambda part: None, queries=False).requests == {LoggedRequest("/a"): 3}


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


def test_progress_is_reported_in_parts_of_a_file(tmp_path):
    """The reported part grows, and never passes 1."""
    log = tmp_path / "paths"
    log.write_text("/a\n" * 40_000)
    told = []
    read_log(log, told.append)
    assert len(told) == 4
    assert told == sorted(told)
    assert told[0] > 0
    assert told[-1] <= 1


RULES = r"""
    rewrite `^/old/(.*)$` -> "/new/$1"
    rewrite `^/mine/(.*)$` -> jinja "/users/{{ user.username }}/{{ groups[1] }}"
    rewrite `^/team/` -> jinja "/{{ request.headers['X-Team'] }}"
    rewrite `^/dots$` -> "/../x"
    rewrite `^/file$` -> "/directory/"
"""
ANN = BasicUser("ann", Secret("value", "secret"))
STAFF = (Resource("/**", ("GET", "PUT"), provider="staff", users=(ANN,)),)


def _answer(address, method="GET", user="", given=None, **target):
    return Simulator(Mounts([site(RULES, **target)]), given or RequestDefaults()).ask(
        LoggedRequest(address, method, user=user)
    )


def test_an_answer_has_the_key_and_the_rewrite():
    """The path is decoded, and the rewrite has its number."""
    assert _answer("/old/a%20b") == SimulatedAnswer("/old/a b", "site", True, 1, "/new/a b")


def test_a_key_that_nothing_takes_stays():
    """Without a rewrite there is no number."""
    assert _answer("/else") == SimulatedAnswer("/else", "site", True, None, "/else")


def test_a_path_that_cannot_be_is_refused_before_the_rules():
    """The answer shows it as it was sent."""
    answer = _answer("/a/../b")
    assert (answer.path, answer.reached, answer.status) == ("/a/../b", False, 400)


def test_where_no_target_is_mounted_there_is_none():
    """The answer is 404, and no target has counted it."""
    answer = _answer("/else", mount=Mount("www.example.com", ("/",)))
    assert (answer.target, answer.status) == (None, 404)


def test_the_host_may_stand_in_the_line_the_address_or_the_command():
    """The address's own host wins, then the line's, then the one that was given for all."""
    mounts = Mounts([site(RULES, mount=Mount("www.example.com", ("/",)))])
    simulator = Simulator(mounts, RequestDefaults(host="www.example.com"))
    assert simulator.ask(LoggedRequest("/else")).target == "site"
    assert simulator.ask(LoggedRequest("/else", host="other")).target is None
    assert simulator.ask(LoggedRequest("http://WWW.example.com:80/else", host="other")).target == "site"


def test_a_failing_template_is_an_answer():
    """Its rewrite took the key; the status is what a client gets."""
    answer = _answer("/dots")
    assert (answer.reached, answer.number, answer.key, answer.status) == (True, 4, None, 400)


def test_a_user_is_seen_where_somebody_must_sign_in():
    """The log's user, or the one that is given for all, passes the guard that lists them."""
    assert _answer("/mine/a", user="ann", resources=STAFF).key == "/users/ann/a"
    assert _answer("/mine/a", given=RequestDefaults(User("ann")), resources=STAFF).key == "/users/ann/a"
    assert _answer("/mine/a", user="eve", resources=STAFF).status == 401
    assert _answer("/mine/a", resources=STAFF).status == 401


def test_nobody_is_seen_where_anyone_may_come():
    """As on a server: who need not sign in does not."""
    assert _answer("/mine/a", user="ann").status == 403


def test_a_method_that_is_not_enabled_is_refused_before_anybody_signs_in():
    """405 comes before 401."""
    assert _answer("/old/a", "POST", resources=STAFF).status == 405
    assert EVERYTHING.put.enabled


def test_headers_are_given_for_all():
    """A log does not have them."""
    assert _answer("/team/a", given=RequestDefaults(headers=(("X-Team", "blue"),))).key == "/blue"


def test_of_an_upload_nothing_can_be_reported():
    """Its file's name is in its form."""
    answer = _answer("/old/", "PUT")
    assert (answer.reached, answer.key, answer.status, answer.reason) == (False, None, None, UPLOAD)


def test_a_file_that_becomes_a_directory_has_a_key_and_is_refused():
    """The key is that of a directory, so the answer is 404."""
    answer = _answer("/file")
    assert (answer.key, answer.status) == ("/directory/", 404)


def _silent(part):
    pass


def test_work_on_few_items_is_done_here():
    """Few items start no worker."""
    assert set(in_portions(lambda items: os.getpid(), [1, 2], _silent)) == {os.getpid()}


def test_many_items_are_shared_out_and_results_keep_their_order():
    """Each portion is worked on once, in other processes, and the results are in the order of the items."""
    items = list(range(23_000))
    results = list(in_portions(lambda items: (os.getpid(), items[0], sum(items)), items, _silent, workers=2))
    assert [first for _, first, _ in results] == [0, 5_000, 10_000, 15_000, 20_000]
    assert sum(total for _, _, total in results) == sum(items)
    assert os.getpid() not in {process for process, _, _ in results}


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_ends_at_one(workers):
    """The reported part grows with each portion, up to 1."""
    told = []
    list(in_portions(len, list(range(12_000)), told.append, workers=workers))
    assert told == [1 / 3, 2 / 3, 1]


def test_there_may_be_nothing_to_do():
    """No items make no portion."""
    assert list(in_portions(len, [], _silent)) == []


def test_a_failure_of_a_worker_is_raised_here():
    """An exception of a worker is raised again."""
    with pytest.raises(ZeroDivisionError):
        list(in_portions(lambda items: 1 // 0, list(range(6_000)), _silent, workers=2))
