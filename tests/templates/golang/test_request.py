import pytest
from go_programs import HELM, budget

from tornado_proxy.templates.data import RequestData
from tornado_proxy.templates.errors import LimitError
from tornado_proxy.templates.golang.program import Program
from tornado_proxy.templates.golang.request import REQUEST, request_facts
from tornado_proxy.templates.golang.values import Struct

ASKED = RequestData(
    method="GET",
    host="h.com",
    path="/a b",
    raw_query="x=2&x=1&y=%26&bad=%zz",
    headers=(("accept", "*/*"), ("Host", "h.com"), ("X-Tag", "1"), ("x-tag", "2")),
    scheme="https",
)


def _written(text, left):
    return Program(text, HELM).execute(Struct(REQUEST, request_facts(ASKED, left)), left).decode()


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{.Method}} {{.Host}} {{.RequestURI}}", "GET h.com /a%20b?x=2&x=1&y=%26&bad=%zz"),
        ('{{.Header.Get "ACCEPT"}} {{.Header.Values "x-tag"}} {{len .Header}}', "*/* [1 2] 2"),
        ('{{.FormValue "y"}} {{.FormValue "bad"}}', "& "),
        ("{{.URL.Query}} {{.URL.Query.Encode}}", "map[x:[2 1] y:[&]] x=2&x=1&y=%26"),
        ("{{if .TLS}}{{.Proto}}{{end}}", "HTTP/1.1"),
    ],
)
def test_a_request_is_read_as_go_s_server_has_it(text, result):
    """Its fields are canonical, its host is not a field, and what the query spells badly is left out."""
    assert _written(text, budget()) == result


def test_each_reading_of_the_query_is_a_value_of_its_own():
    """Sorting one in place changes no other."""
    assert _written("{{sortAlpha (index .URL.Query `x`)}}{{index .URL.Query `x`}}", budget()) == "[1 2][2 1]"


def test_the_query_and_the_header_are_parsed_once():
    """The facts keep what was made of them."""
    facts = request_facts(ASKED, budget())
    assert facts.query is facts.query
    assert facts.header is facts.header
    assert facts.request_uri is facts.request_uri


@pytest.mark.parametrize("part", ["header", "query", "request_uri"])
def test_what_is_made_of_a_request_is_charged_by_its_size(part):
    """A large one takes more steps than a small budget has."""
    large = RequestData(path="/" + "a" * 1000, raw_query="a=1&" * 1000, headers=(("a", "1"),) * 1000)
    with pytest.raises(LimitError):
        getattr(request_facts(large, budget(steps=500)), part)
