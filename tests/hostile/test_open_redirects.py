"""No redirect of the rules leads to a host that a client chooses: attempts by address, header, user, template and list.

Locations are read as browsers read them (https://url.spec.whatwg.org/#url-parsing): tabs and line ends vanish, a backslash
is a slash, slashes before a host do not count, and a host's percent-encoding and its other forms of dots are undone.
"""

import re
import unicodedata
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_texts import document

from tornado_proxy.config.model import Bucket, Mount, Target
from tornado_proxy.config.providers import BasicUser, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.decide import simulate
from tornado_proxy.routing.mounts import Mounts, sites
from tornado_proxy.routing.plan import Redirect
from tornado_proxy.routing.request import BadAddress, read_request
from tornado_proxy.rules.loading import compile_documents
from tornado_proxy.semantics.request import METHODS, User

OWN, EVIL = "files.example.com", "evil.example"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)


def host_of(location: str, scheme: str = "https") -> str:
    """The host to which a browser goes from a page of `OWN`, or the scheme of another kind of URL."""
    text = re.sub(r"[\t\n\r]", "", location.strip("".join(map(chr, range(33)))))
    if (url := _SCHEME.fullmatch(text)) and url[1].lower() not in {"http", "https"}:
        return f"{url[1].lower()}:"
    rest = (url[2] if url else text).replace("\\", "/")
    relative = url is None or url[1].lower() == scheme
    if relative and not rest.startswith("//"):
        return OWN
    authority = re.split("[/?#]", rest.lstrip("/"), maxsplit=1)[0]
    host = unicodedata.normalize("NFKC", unquote(authority.rpartition("@")[2])).replace("\u3002", ".")
    return re.split(r":\d*$|[/?#\\@]", host, maxsplit=1)[0].lower()


@pytest.mark.parametrize(
    ("location", "host"),
    [
        *(
            (text, EVIL)
            for text in (f"//{EVIL}", f"/\\{EVIL}/", f"\\/{EVIL}", f"/\t/{EVIL}", f"\n//{EVIL}", f"///{EVIL}")
        ),
        *((text, EVIL) for text in (f"https://{EVIL}", f"http:{EVIL}", f"http:/{EVIL}/x", f"https://good@{EVIL}:8")),
        *(
            (text, EVIL)
            for text in (f"https://{EVIL}\\@{OWN}", "//evil%2Eexample/", "//evil\uff0eexample", "//EVIL\u3002example")
        ),
        *((text, OWN) for text in ("/x", "x", f"https:{EVIL}", f"https:/{EVIL}", "?x", "", f"https://{EVIL}@{OWN}/")),
        ("javascript:alert(1)", "javascript:"),
        (" JaVa\tScript:alert(1)", "javascript:"),
    ],
)
def test_locations_are_read_as_browsers_read_them(location, host):
    assert host_of(location) == host


def _compiled(statements: str, listed: str = ""):
    return compile_documents([document(f"target site {{\n{statements}\n}}")], list_file=lambda _path: listed.encode())


def _locations(compiled, address, headers=(), user=None):
    """Where a request leads; none where it is refused, or served."""
    users = (BasicUser(user, Secret("test", "x")),)
    resources = (Resource("/**", METHODS, provider="staff", users=users),) if user else ()
    target = Target("site", Mount(), Bucket("files"), resources=resources)
    mounts = Mounts(sites([target], compiled.rule_sets))
    try:
        request = read_request(address, "GET", OWN, headers)
    except BadAddress:
        return []
    plan = simulate(mounts, request, user and User(user)).plan
    return [each.location for each in plan if isinstance(each, Redirect)]


CHOSEN = (
    f"//{EVIL}/", f"///{EVIL}/", f"/\\{EVIL}/", f"\\\\{EVIL}/", f"https://{EVIL}/", f"https:{EVIL}/",
    f"https:/{EVIL}/", f"http:{EVIL}", f"HTTPS://{EVIL}", f"https://{OWN}@{EVIL}/", f"@{EVIL}/", f":x@{EVIL}/",
    f".{EVIL}/", f":443@{EVIL}", f"%2f%2f{EVIL}/", f"%2F%5C{EVIL}/", f"%5c%5c{EVIL}/", f"%09//{EVIL}/",
    f"/%09/{EVIL}/", f"/%0a/{EVIL}/", f"%0d%0aLocation:%20https://{EVIL}/", f"\uff0f\uff0f{EVIL}/",
    f"/\u2215{EVIL}/", f"/\u3002{EVIL}", f"//[::ffff:1.2.3.4]@{EVIL}/", "//[::1]/", "//1.2.3.4/", "//3232235777/",
    f"//{EVIL}:8443/", f"//{EVIL}#@{OWN}/", f"//{EVIL}?{OWN}/", "javascript:alert(1)", "JavaScript://%0aalert(1)",
    "data:text/html,x", f"..//{EVIL}/", f"/.//{EVIL}/", f"/..//{EVIL}/", f"x/../..//{EVIL}/", f";//{EVIL}/",
    f"\x02//{EVIL}/", f"\x03/{EVIL}/", f"\u202e//{EVIL}/", f"\ufeff//{EVIL}/", f"\x00//{EVIL}/", f" //{EVIL}/",
)  # fmt: skip
"""What a client puts where a rule inserts something."""

INSERTING = (
    "redirect `^/to/(?P<x>.*)$` -> `/$x`",
    "redirect `^/to/(?P<x>.*)$` -> `$x`",
    "redirect `^/to(?P<x>.*)$` -> `$x`",
    "redirect `^/to/(?P<x>.*)$` -> `/${x}/y?z=$x#$x`",
    "redirect `^/to/(?P<a>.)(?P<x>.*)$` -> `$a$x`",
    "redirect `^/to/(?P<x>.*)$` -> jinja `/{{ groups.x }}`",
    "redirect `^/to/(?P<x>.*)$` -> jinja `{{ groups.x }}`",
    "redirect `^/to/(?P<x>.*)$` -> jinja `{{ 'https://' }}{{ groups.x }}`",
    "redirect `^/to/(?P<x>.*)$` -> jinja `{{ '/' }}{{ '/' }}{{ groups.x }}`",
    "redirect `^/to/(?P<x>.*)$` -> jinja `{% set t %}https://{{ groups.x }}{% endset %}{{ t }}`",
    "redirect `^/to/(?P<x>.*)$` -> jinja `{% filter upper %}https://{{ groups.x }}{% endfilter %}`",
    "redirect `^/to/(?P<x>.*)$` -> jinja `{% filter lower %}{{ groups.x }}{% endfilter %}`",
    "redirect `^/to/(?P<x>.*)$` -> jinja `{% filter trim %}/{{ groups.x }}{% endfilter %}`",
    "redirect `^/to/(?P<x>.*)$` -> jinja `{% macro m(t) %}https://{{ t }}{% endmacro %}{{ m(groups.x) }}`",
    "redirect `^/to/(?P<x>.*)$` -> jinja `{% for c in groups.x %}{{ c }}{% endfor %}`",
    "redirect `^/to/(?P<x>.*)$` -> jinja `{% if true %}https://{% endif %}{{ groups.x }}`",
    "redirect `^/to/(?P<x>.*)$` -> jinja `{% if true %}https:{% endif %}{{ '' }}//{{ groups.x }}`",
    "redirect `^/to/(?P<x>.*)$` -> jinja `/{{ '' }}/{{ groups.x }}`",
    "redirect `^/to/(?P<x>.*)$` -> jinja `{{ '' }}//{{ groups.x }}`",
    "redirect `^/to/` -> jinja `/{{ request.headers['x-to']|default('') }}`",
    "redirect `^/to/` -> jinja `{{ request.headers['x-to']|default('') }}/x`",
    "redirect `^/to/` -> jinja `{{ request.query.to|default('') }}`",
    "redirect `^/to/` -> jinja `https://{{ request.host }}/{{ request.query.to|default('') }}`",
    "redirect `^/to/` -> jinja `{{ user.username }}`",
    "redirect `^/to/` -> jinja `/{{ user.username }}/{{ request.query.to|default('') }}`",
    "redirect `^/to/(?P<x>.*)$` -> go `/{{ .Groups.x }}`",
    "redirect `^/to/(?P<x>.*)$` -> go `{{ .Groups.x }}`",
    'redirect `^/to/(?P<x>.*)$` -> go `{{ "https://" }}{{ .Groups.x }}`',
    'redirect `^/to/(?P<x>.*)$` -> go `{{ printf "https://%s" .Groups.x }}`',
    'redirect `^/to/(?P<x>.*)$` -> go `{{ define "t" }}{{ . }}{{ end }}{{ template "t" .Groups.x }}`',
    'redirect `^/to/` -> go `{{ .Request.Header.Get "X-To" }}`',
    'redirect `^/to/` -> go `{{ .Request.URL.Query.Get "to" }}`',
    "redirect `^/to/` -> go `{{ .Request.Host }}/{{ .Request.URL.RawQuery }}`",
    "redirect if missing `^/to/(?P<x>.*)$` -> `/$x`",
)
"""Rules that insert what a client chooses where a location begins."""

STATEMENTS = (
    "redirect `^/to/(?P<x>.*)$` -> `https://$x`",
    "redirect `^/to/(?P<x>.*)$` -> `https:$x`",
    "redirect `^/to/(?P<x>.*)$` -> `https:/$x`",
    "redirect `^/to/(?P<x>.*)$` -> `//$x`",
    "redirect `^/to/(?P<x>.*)$` -> `https://$x.example.com/`",
    "redirect `^/to/(?P<x>.*)$` -> `https://example.com$x`",
    "redirect `^/to/(?P<x>.*)$` -> `https://example.com:$x/`",
    "redirect `^/to/(?P<x>.*)$` -> `https://example.com@$x/`",
    "redirect `^/to/(?P<x>.*)$` -> `https://me:$x@example.com/`",
    "redirect `^/to/(?P<x>.*)$` -> `https://[$x]/`",
    "redirect `^/to/(?P<x>.*)$` -> `HTTPS://$x/`",
    "redirect `^/to/(?P<x>.*)$` -> `javascript:$x`",
    "redirect `^/to/(?P<x>.*)$` -> `data:$x`",
    "redirect `^/to/(?P<x>.*)$` -> jinja `https://{{ groups.x }}/`",
    "redirect `^/to/` -> jinja `https://{{ request.headers.host }}/`",
    "redirect `^/to/` -> jinja `https://{{ request.host }}/`",
    "redirect `^/to/` -> jinja `//{{ user.username }}.example.com/`",
    "redirect `^/to/` -> go `https://{{ .Request.Host }}/`",
    "redirect `^/to/` -> go `https://example.com{{ .Request.URL.Path }}`",
)
"""Rules whose host somebody else would choose."""


@pytest.mark.parametrize("rule", STATEMENTS)
def test_a_rule_whose_host_is_inserted_is_refused_at_load(rule):
    (mistake,) = _compiled(rule).diagnostics
    assert mistake.code in {"open-redirect", "bad-location"}


@pytest.mark.parametrize("rule", [*INSERTING, *STATEMENTS])
def test_nothing_that_a_client_sends_leads_away(rule):
    """As a part of the path, as sent and encoded; as a header, a query value, a host, and the name of a user."""
    compiled = _compiled(rule)
    led = []
    for chosen in CHOSEN:
        headers = (("X-To", chosen), ("Host", chosen))
        for written in (quote(chosen, safe="/%:@?#"), quote(chosen, safe="")):
            for user in (chosen, "ann") if "user" in rule else (None,):
                address = f"/to/{written}?to={quote(chosen)}"
                led += _locations(compiled, address, headers, user)
    for location in led:
        for scheme in ("http", "https"):
            assert host_of(location, scheme) == OWN, location
        assert location.isascii()
        assert location.isprintable()
    assert led or rule in STATEMENTS or "https:" in rule


LINES = (
    f"/a //{EVIL}/", f"/a /\\{EVIL}/", f"/a \\\\{EVIL}/", f"/a https:{EVIL}", f"/a https:/{EVIL}",
    f"/a https:///{EVIL}", f"/a https:\\\\{EVIL}", f"/a https://{OWN}@{EVIL}/", f"/a https://{OWN}\\@{EVIL}/",
    f"/a https://{OWN}%2f@{EVIL}/", f"/a %2f%2f{EVIL}/", f"/a /%2f{EVIL}/", f"/a /\t/{EVIL}/", f"/a /\x0b/{EVIL}/",
    f"/a \u3000//{EVIL}/", f"/a \uff0f\uff0f{EVIL}/", f"/a /.//{EVIL}/", f"/a /..//{EVIL}/", f"/a /%2e%2e//{EVIL}/",
    f"/a \x02//{EVIL}/", f"/a \x02\x03//{EVIL}/", f"/a /\x02/{EVIL}/\x03", f"/a ?//{EVIL}/", f"/a #//{EVIL}/",
    f"/a {EVIL}", "/a javascript:alert(1)", "/a data:text/html,x", "/a ftp://evil.example/",
    "/a https://[evil.example]/", "/a https://evil\u3002example/", "/a https://evil.example:99999999/", "/a https:",
)  # fmt: skip
"""Lines whose location is not plainly a path below the mount or a URL with a host."""


@pytest.mark.parametrize("line", LINES)
def test_a_line_that_is_no_plain_location_leads_nowhere_else(line):
    """It is refused at load, or is a path of the own host: a list may come from another server, and be no rule of ours."""
    compiled = _compiled('redirects "moved.txt"', f"{line}\n")
    for location in _locations(compiled, "/a?x"):
        assert host_of(location, "http") == host_of(location) == OWN, location


def test_a_host_in_the_words_of_a_rule_is_where_it_leads():
    """Whatever is inserted behind it, and with every port and address."""
    rule = "redirect `^/to/(?P<x>.*)$` -> `https://[2001:db8::1]:8443/$x`"
    for chosen in CHOSEN:
        for location in _locations(_compiled(rule), f"/to/{quote(chosen, safe='')}"):
            assert location.startswith("https://[2001:db8::1]:8443/")
            assert host_of(location) == "[2001:db8::1]"


@given(
    st.sampled_from([rule for rule in INSERTING if "`^/to/(?P<x>.*)$`" in rule]),
    st.text(st.sampled_from("/\\:@.%?#\t\n\x02\x03 aehlpstv\uff0f\u3002"), max_size=12),
)
def test_no_text_of_these_characters_leads_away(rule, chosen):
    for location in _locations(_compiled(rule), f"/to/{quote(chosen, safe='')}"):
        assert host_of(location, "http") == host_of(location) == OWN, location
