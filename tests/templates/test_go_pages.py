from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from linear_time import check_linear, texts_of

from gotemplate.template.errors import LimitError, RenderError, RenderLimits
from tornado_proxy.semantics.request import Request, User
from tornado_proxy.templates.go import PageMistake, compile_page
from tornado_proxy.templates.template import AnyUser, HeaderFields, ObjectMetadata, ResourceData, TargetData

HELPERS = (
    '{{- define "who" -}}{{- if .User -}}{{- .User.GetIdentifier -}}{{- end -}}{{- end -}}',
    '{{- define "kind" -}}{{ if contains "json" (.Request.Header.Get "Accept") }}json{{ else }}html{{ end }}{{- end -}}\n',
)
REQUEST = Request(
    host="files.example", path="/docs/a b", raw_query="x=1", headers=(("accept", "text/html"),), scheme="https"
)


class Entry(msgspec.Struct, frozen=True):
    """A line of a listing."""

    name: str
    size: int
    last_modified: datetime
    etag: str = "e1"
    path: str = "/a"


ENTRIES = [
    Entry("a.txt", 999, datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
    Entry("b.txt", 1_500_000, datetime(2024, 5, 6, 7, 8, 9, tzinfo=timezone(timedelta(hours=2)))),
]


def _rendered(text, data=None, helpers=()):
    return compile_page(text, helpers).render(data)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{ range .Entries }}{{ .Name }} {{ .Size | humanSize }};{{ end }}", "a.txt 999 B;b.txt 1.5 MB;"),
        ('{{ (index .Entries 0).LastModified | date "2006-01-02T15:04:05Z07:00" }}', "2024-05-06T07:08:09Z"),
        ("{{ (index .Entries 1).LastModified }}", "2024-05-06 07:08:09 +0200 +0200"),
        ("{{ first .Entries | toJson }}", '{"Name":"a.txt","Size":999,"LastModified":"2024-05-06T07:08:09Z","ETag":"e1","Path":"/a"}'),
        ("{{ requestURI .Request }}", "https://files.example/docs/a%20b?x=1"),
        ("{{ requestScheme .Request }} {{ requestHost .Request }}", "https files.example"),
        ("{{ range $k, $t := .Targets }}{{ $k }}{{ $t.Mount.Path }}{{ end }}", "one[/x/]"),
        ("{{ keys .Targets | join `,` }}", "one"),
        ("{{ .Error.Error }}, {{ .Error }}", "no such <key>, no such <key>"),
        ("{{ .User.GetUsername }}", "ann"),
        ("{{ .Flag }} {{ .Ratio }} {{ .Nothing }} {{ .Raw }}", "true 0.5 <no value> é"),
        ('{{ tpl "{{ .Flag }}{{ 1 | add 2 }}" . }}', "true3"),
        ('{{ now | date "2006" | len }}', "4"),
        ('{{ (index .Entries 0).LastModified | ago | regexMatch "^[0-9]+h[0-9]+m[0-9]+s$" }}', "true"),
        ("{{ toYaml .Flag }}", "true"),
        ('{{ index .Metadata "M1-Key" }}', "v1"),
    ],
)  # fmt: skip
def test_pages_read_python_data(text, result):
    """The fields of Python data have Go's names, and nothing is escaped, as in text/template."""
    data = {
        "Entries": ENTRIES,
        "Request": REQUEST,
        "Targets": {"one": TargetData("one", mount_paths=("/x/",))},
        "Error": LookupError("no such <key>"),
        "User": User("ann"),
        "Flag": True,
        "Ratio": 0.5,
        "Nothing": None,
        "Raw": "é".encode(),
        "Metadata": ObjectMetadata((("m1-key", "v1"),)),
    }
    assert _rendered(text, data) == result


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (9, "9 B"),
        (10, "10 B"),
        (1000, "1.0 kB"),
        (9949, "9.9 kB"),
        (82_854_982, "83 MB"),
        (10**9, "1.0 GB"),
    ],
)
def test_sizes_have_decimal_units(size, text):
    """Units are powers of 1,000, and only a number below ten has a decimal."""
    assert _rendered("{{ humanSize .S }}", {"S": size}) == text


class ServedRequest(Request, frozen=True):
    """A request with the authority that the server adds."""

    authority: str = ""


def test_links_have_the_port_of_the_request():
    request = ServedRequest(host="files.example", path="/a", scheme="http", authority="files.example:8080")
    assert _rendered("{{ requestURI .R }}", {"R": request}) == "http://files.example:8080/a"


ATTACK = Request(
    host="a<b>.example",
    path="/<script>alert(1)</script>a & <img src=x>b",
    raw_query="q=%3Cb%3E1%3C/b%3E&%3Ci%3E=%22&'<p>",
    headers=(("referer", '"><svg onload=alert(1)>'), ("x-kind", "a<p>"), ("x-kind", "<!-- b")),
)

ATTACKED = (
    "/%3Cscript%3Ealert%281%29%3C/script%3Ea%20&amp;%20%3Cimg%20src=x%3Eb?q=%3Cb%3E1%3C/b%3E&amp;%3Ci%3E=%22&amp;&#39;"
)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{ .Request.URL.Path }}", "/a &amp; b"),
        ('<a href="{{ .Request.URL }}">', f'<a href="{ATTACKED}">'),
        ("{{ .Request.URL.RawQuery }}", "q=%3Cb%3E1%3C/b%3E&amp;%3Ci%3E=%22&amp;&#39;"),
        ("{{ range $name, $values := .Request.URL.Query }}{{ $name }}{{ $values }};{{ end }}", "[&#34;];&#39;[];q[1];"),
        ('{{ .Request.FormValue "q" }}', "1"),
        ("{{ .Request.Referer }}", "&#34;&gt;"),
        ('{{ .Request.Header.Get "X-Kind" }}{{ index .Request.Header "X-Kind" }}', "a[a ]"),
        ("{{ .Request.Host }} {{ requestHost .Request }}", "a.example a.example"),
        ("{{ requestURI .Request }}", f"http://a.example{ATTACKED}"),
        ("{{ .Request.ProtoMajor }}{{ .Request.URL.IsAbs }}{{ .Request.TLS }}", "1false<nil>"),
    ],
)
def test_a_page_shows_nothing_of_a_request_as_html(text, result):
    """Elements are left out and the rest is escaped, as in s3-proxy, whose pages do not escape what they print."""
    assert _rendered(text, {"Request": ATTACK}) == result


def test_elements_of_a_request_are_found_in_linear_time():
    """Elements and comments without an end extend to the end of the text."""
    units = ["<script>", "</script", "<!--", "-->", "<", "</", "<style></style ", "<a ", "&"]
    page = compile_page("{{ .R.URL.Path }}")
    plenty = RenderLimits(steps=10**9, text=10**9, items=10**9)
    check_linear(lambda path: page.render({"R": Request(path=path)}, plenty), texts_of(units, ["/"], [""]), 60_000)


def test_to_make_a_request_safe_has_its_costs():
    """Each text of a request counts, however short; a header is made safe once, however often a page reads it."""
    fields = tuple((f"a{number}", "") for number in range(1000))
    request = {"R": Request(raw_query="&".join(name for name, _ in fields), headers=fields)}
    page = compile_page('{{ range until 100 }}{{ $.R.Header.Get "a1" }}{{ end }}')
    assert page.render(request, RenderLimits(steps=10_000)) == ""
    page = compile_page('{{ range until 10 }}{{ $.R.URL.Query.Get "a1" }}{{ end }}')
    with pytest.raises(LimitError):
        page.render(request, RenderLimits(steps=20_000))


def test_headers_may_be_the_data_of_a_page():
    headers = HeaderFields((("x-kind", "a"), ("X-Kind", "b")))
    assert _rendered('{{ .H.Get "X-KIND" }} {{ index .H "X-Kind" }}', {"H": headers}) == "a [a b]"


def test_pages_headers_and_status_share_helpers():
    """A page, a header and a status are separate templates with the same helpers."""
    data = {"User": User("ann"), "Request": REQUEST}
    pages = ('Hello {{ template "who" . }}', 'text/{{ include "kind" . }}', "{{ if .User }}200{{ else }}401{{ end }}")
    assert [_rendered(text, data, HELPERS).strip() for text in pages] == ["Hello ann", "text/html", "200"]


@pytest.mark.parametrize(
    ("text", "helpers", "place"),
    [
        ("a{{ nope }}", (), (None, 4, 8)),
        ("a{{ nope }}", HELPERS, (None, 4, 8)),
        ("{{ . }}", ("{{ nope }}", "x"), (0, 3, 7)),
        ("{{ . }}", ("x", "é{{ mod 1 }}"), (1, 4, 9)),
    ],
)
def test_a_mistake_has_its_place_in_the_page_or_a_helper(text, helpers, place):
    with pytest.raises(PageMistake) as caught:
        compile_page(text, helpers)
    assert (caught.value.helper, caught.value.offset, caught.value.end) == place


def test_a_page_has_the_limits_of_the_caller():
    page = compile_page("{{ range .L }}{{ . }}{{ end }}")
    assert len(page.render({"L": ["x" * 1000] * 100})) == 100_000
    with pytest.raises(LimitError, match="a text of more than 5000 bytes"):
        page.render({"L": ["x" * 1000] * 100}, RenderLimits(text=5000))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ .X }}", "`object` is not a value of a template"),
        ("{{ humanSize .S }}", "expected `int64`, found `string`"),
        ("{{ requestHost .S }}", r"expected `\*http.Request`, found `string`"),
        ('{{ tpl "{{" . }}', "an action is not closed"),
    ],
)
def test_a_page_that_fails_has_a_reason(text, message):
    data = {"S": "s", **({"X": object()} if "X" in text else {})}
    with pytest.raises(RenderError, match=message):
        _rendered(text, data)


def test_a_constant_request_is_a_mistake():
    with pytest.raises(PageMistake, match=r"expected `\*http.Request`, found a string"):
        compile_page('{{ requestURI "x" }}')


@pytest.mark.parametrize(
    ("headers", "expected"),
    [((("Content-Length", "12"),), "12 []"), ((("Transfer-Encoding", "chunked"),), "-1 [chunked]"), ((), "0 []")],
)
def test_a_page_sees_how_its_request_is_sent(headers, expected):
    """The length and the coding are those that the client announced; trailers and a pattern are always empty."""
    text = "{{ .ContentLength }} {{ .TransferEncoding }}{{ range .Trailer }}x{{ end }}{{ .Pattern }}"
    assert compile_page(text).render(Request(headers=headers)) == expected


def test_a_page_sees_the_actions_and_resources_of_a_target():
    """An action that is not enabled is false, and can be asked all the same."""
    text = (
        "{{ .Actions.GET.Enabled }} {{ .Actions.PUT.Enabled }} {{ range .Resources }}{{ .Path }}{{ .Methods }}{{ end }}"
    )
    target = TargetData("site", actions=("GET",), resources=(ResourceData("/**", ("GET",)),))
    assert compile_page(text).render(target) == "true false /**[GET]"


def test_a_page_with_a_sample_has_the_fields_of_its_data():
    """With a sample of the data, a field that they lack is a mistake; a sample user has the fields of all kinds."""
    sample = {"User": AnyUser("")}
    assert compile_page("{{ .User.PreferredUsername }}{{ .Other }}", (), sample)
    with pytest.raises(PageMistake, match="`User` has no field `Nope`"):
        compile_page("{{ .User.Nope }}", (), sample)
