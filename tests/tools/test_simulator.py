import gzip
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_sites import read_request_log, site

from tornado_proxy.config.model import Mount
from tornado_proxy.config.providers import BasicUser, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.routing.request import BadAddress, parse_request_path
from tornado_proxy.semantics.request import User
from tornado_proxy.telemetry.events import RequestRecord, Served
from tornado_proxy.telemetry.log import access_log
from tornado_proxy.tools.simulator import LoggedRequest, RequestDefaults, Simulator, UnreadableLog, read_line

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
def test_a_request_is_read_from_a_line_of_any_format(line, expected):
    """Paths, URLs, common and combined logs, and both formats of our own log are read; another line has no request."""
    assert read_line(line.encode().decode("latin-1")) == expected


@pytest.mark.parametrize("log_format", ["text", "json"])
@given(path=st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20))
def test_a_line_of_our_own_log_is_read_as_the_same_request(log_format, path):
    lines = []
    record = RequestRecord("id", 0.0, "192.0.2.1", "GET", "h", f"/{path}", 1, user="ann")
    access_log(log_format, lines.append)(Served(record, 200, 1, 0, 0.1))
    request = read_line(lines[0].encode().decode("latin-1"))
    assert (request.method, request.host, request.user) == ("GET", "h", "ann")
    assert unquote(request.address) == f"/{path}"


@pytest.mark.parametrize("log_format", ["text", "json"])
@pytest.mark.parametrize("path", ["/%zz", "/a%0ab", "/%ff", "/\xe9"])
def test_an_invalid_path_is_read_from_our_own_log_unchanged(log_format, path):
    """Our log has the raw path of a request without a target, which is refused again."""
    lines = []
    access_log(log_format, lines.append)(
        Served(RequestRecord("id", 0.0, "192.0.2.1", "GET", "", path, 1), 400, 0, 0, 0.1, reason="why", is_error=True)
    )
    request = read_line(lines[0].encode().decode("latin-1"))
    assert request == LoggedRequest(path)
    with pytest.raises(BadAddress):
        parse_request_path(request.address)


def test_the_path_of_a_refusal_with_a_target_is_read_as_decoded():
    """The result of a rewrite was refused, so the path itself could be decoded."""
    assert read_line("method=GET path=/%zz status=400 target=site") == LoggedRequest("/%25zz")


@given(st.text(max_size=60))
def test_any_line_can_be_read(line):
    read_line(line.encode(errors="surrogatepass").decode("latin-1"))


def test_requests_are_counted(tmp_path):
    """Equal requests are one entry, and lines without a request are counted with the first line number."""
    log = tmp_path / "access.log"
    log.write_text("/a\n\n# a comment\n/b\n/a\nwhat?\nwhat else?\n")
    log = read_request_log(log)
    assert log.requests == {LoggedRequest("/a"): 2, LoggedRequest("/b"): 1}
    assert (log.total, log.strange, log.first_strange) == (3, 2, 6)


def test_a_compressed_log_is_read_with_any_name(tmp_path):
    """Compression is detected by the first bytes."""
    log = tmp_path / "access.log"
    log.write_bytes(gzip.compress(b"/a\n/b\n"))
    assert read_request_log(log).total == 2


@pytest.mark.parametrize(
    "content",
    [gzip.compress(b"/a\n" * 999, mtime=0)[:-9], gzip.compress(b"/a\n", mtime=0)[:12] + b"\xff" * 40],
    ids=["cut off", "overwritten"],
)
def test_a_damaged_compressed_log_cannot_be_read(tmp_path, content):
    log = tmp_path / "access.log.gz"
    log.write_bytes(content)
    with pytest.raises(UnreadableLog):
        read_request_log(log)


RULES = r"""
    rewrite `^/old/(.*)$` -> "/new/$1"
    rewrite `^/mine/(.*)$` -> jinja "/users/{{ user.username }}/{{ groups[1] }}"
    rewrite `^/team/` -> jinja "/{{ request.headers['X-Team'] }}"
    rewrite `^/dots$` -> "/../x"
    rewrite `^/file$` -> "/directory/"
"""
ANN = BasicUser("ann", Secret("value", "secret"))
STAFF = (Resource("/**", ("GET", "PUT"), provider="staff", users=(ANN,)),)


def _simulate(address, method="GET", user="", defaults=None, **target):
    return Simulator(Mounts([site(RULES, **target)]), defaults or RequestDefaults()).ask(
        LoggedRequest(address, method, user=user)
    )


def _key(decision):
    return decision.rewritten.key if decision.rewritten else None


def _status(decision):
    return decision.plan[0].status if decision.is_refused else None


def test_an_answer_has_the_key_and_the_rewrite():
    """The path is decoded, and the rewrite has its number."""
    decision = _simulate("/old/a%20b")
    assert (decision.request.path, decision.rewrite.number, _key(decision)) == ("/old/a b", 1, "/new/a b")


def test_the_host_comes_from_the_address_the_line_or_the_default():
    """The address's own host has priority over the line's, and the line's over the default."""
    mounts = Mounts([site(RULES, mount=Mount("www.example.com", ("/",)))])
    simulator = Simulator(mounts, RequestDefaults(host="www.example.com"))
    assert simulator.ask(LoggedRequest("/else")).match
    assert simulator.ask(LoggedRequest("/else", host="other")).match is None
    assert simulator.ask(LoggedRequest("http://WWW.example.com:80/else", host="other")).match


def test_templates_see_the_user_if_the_resource_requires_one():
    """The log's user, or the default one, passes a guard that lists that user."""
    assert _key(_simulate("/mine/a", user="ann", resources=STAFF)) == "/users/ann/a"
    assert _key(_simulate("/mine/a", defaults=RequestDefaults(User("ann")), resources=STAFF)) == "/users/ann/a"
    assert _status(_simulate("/mine/a", user="eve", resources=STAFF)) == 401
    assert _status(_simulate("/mine/a", resources=STAFF)) == 401


def test_templates_see_no_user_if_the_resource_is_open():
    """As on a server, nobody signs in where that isn't required."""
    assert _status(_simulate("/mine/a", user="ann")) == 403


def test_default_headers_apply_to_all_requests():
    """A log doesn't have the headers of requests."""
    assert _key(_simulate("/team/a", defaults=RequestDefaults(headers=(("X-Team", "blue"),)))) == "/blue"
