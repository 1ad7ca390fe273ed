import pytest
from go_programs import HELM, budget, request_root, user_of

from tornado_proxy.goregex.matching import Captures
from tornado_proxy.templates.golang.program import Program
from tornado_proxy.templates.golang.values import Struct, is_nil, is_true, type_name
from tornado_proxy.templates.golang.view import REQUEST, AbsentUser, request_facts, root, user_value
from tornado_proxy.templates.template import (
    LimitError,
    MissingUserError,
    RenderError,
    RequestData,
    TargetData,
    TargetKeyRewriteData,
    User,
)

ASKED = RequestData(
    method="GET",
    host="h.com",
    path="/a b",
    raw_query="x=2&x=1&y=%26&bad=%zz",
    headers=(("accept", "*/*"), ("Host", "h.com"), ("X-Tag", "1"), ("x-tag", "2")),
    scheme="https",
)


def _request_written(text, left):
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
    assert _request_written(text, budget()) == result


def test_each_reading_of_the_query_is_a_value_of_its_own():
    """Sorting one in place changes no other."""
    assert _request_written("{{sortAlpha (index .URL.Query `x`)}}{{index .URL.Query `x`}}", budget()) == "[1 2][2 1]"


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


OIDC = {
    "type": "OIDC",
    "PreferredUsername": "ann",
    "Name": "Ann Lee",
    "GivenName": "Ann",
    "FamilyName": "Lee",
    "Email": "a@x",
    "Groups": ["dev", "ops"],
    "EmailVerified": True,
}
BASIC = {"type": "BASIC", "Username": "ann"}
HEADER = {"type": "HEADER", "Username": "", "Email": "h@x"}
DOCUMENT = {
    "User": BASIC,
    "Request": {
        "Method": "GET",
        "Host": "h.com",
        "URL": "http://u@h.com:80/a%2Fb?x=1&x=2#f",
        "RequestURI": "/a%2Fb?x=1&x=2",
        "RemoteAddr": "10.0.0.1:1",
        "Header": {"Accept": ["*/*"], "User-Agent": ["curl"], "Referer": ["r"]},
    },
    "Target": {
        "Name": "site",
        "Bucket": {
            "Name": "b",
            "Prefix": "p/",
            "Region": "eu",
            "S3Endpoint": "e",
            "S3ListMaxKeys": 5,
            "DisableSSL": True,
        },
        "Mount": {"Host": "m", "Path": ["/s/"]},
    },
    "Key": "/k",
}


def _written(text, **changes):
    return Program(text, HELM).execute(request_root({**DOCUMENT, **changes}), budget()).decode()


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (".Key", "/k"),
        (".Request.Method .Request.Host .Request.RemoteAddr .Request.RequestURI", "GETh.com10.0.0.1:1/a%2Fb?x=1&x=2"),
        (".Request.URL", "http://u@h.com:80/a%2Fb?x=1&x=2#f"),
        (".Request.URL.Scheme .Request.URL.Host .Request.URL.Path", "httph.com:80/a/b"),
        (".Request.URL.RawPath .Request.URL.RawQuery .Request.URL.Fragment", "/a%2Fbx=1&x=2f"),
        (".Request.URL.Opaque .Request.URL.RawFragment", ""),
        (".Request.URL.ForceQuery .Request.URL.OmitHost .Request.URL.IsAbs", "false false true"),
        (".Request.URL.Hostname .Request.URL.Port .Request.URL.String", "h.com80http://u@h.com:80/a%2Fb?x=1&x=2#f"),
        (".Request.URL.EscapedPath .Request.URL.EscapedFragment .Request.URL.RequestURI", "/a%2Fbf/a%2Fb?x=1&x=2"),
        (".Request.URL.User .Request.URL.User.Username .Request.URL.User.String", "uuu"),
        ('(.Request.URL.Query.Get "x") (.Request.URL.Query.Has "y")', "1false"),
        ('(.Request.Header.Get "accept") .Request.UserAgent .Request.Referer', "*/*curlr"),
        ('(.Request.FormValue "x") (.Request.FormValue "y")', "1"),
        (".Request.Proto .Request.ProtoMajor .Request.ProtoMinor", "HTTP/1.11 1"),
        ("(.Request.ProtoAtLeast 1 1) (.Request.ProtoAtLeast 2 0)", "true false"),
        (".Request.Header.Accept .Request.TLS", "[*/*] <nil>"),
        ('(.Request.Header.Clone.Get "accept") .Request.URL.Query.Clone', "*/*map[x:[1 2]]"),
        (".Target.Name .Target.Bucket.Name .Target.Bucket.Prefix .Target.Bucket.Region", "sitebp/eu"),
        (".Target.Bucket.S3Endpoint .Target.Bucket.S3ListMaxKeys .Target.Bucket.DisableSSL", "e5 true"),
        (".Target.Mount.Host .Target.Mount.Path", "m[/s/]"),
    ],
)
def test_the_request_is_read_as_by_go_programs(expression, value):
    """Its fields and methods have Go's names and answers."""
    assert _written(f"{{{{print {expression}}}}}") == value


def test_what_is_known_whole_has_a_form_in_json():
    """Its fields in Go's order; the request has more than is known here."""
    text = "{{toJson .Target.Mount}}{{toJson .User}}{{toJson .Request}}"
    assert _written(text) == '{"Host":"m","Path":["/s/"]}{"Username":"ann"}'


METHODS = "{{with .User}}{{.GetType}} {{.GetIdentifier}} {{.GetUsername}} {{.GetName}} {{.GetGivenName}} {{.GetFamilyName}} {{.GetEmail}} {{.GetGroups}} {{.IsEmailVerified}}{{end}}"


@pytest.mark.parametrize(
    ("user", "answers"),
    [
        (BASIC, "BASIC ann ann     [] false"),
        (HEADER, "HEADER h@x     h@x [] false"),
        (OIDC, "OIDC ann ann Ann Lee Ann Lee a@x [dev ops] true"),
    ],
)
def test_every_user_has_the_same_methods(user, answers):
    """A method is empty for a user that lacks the value."""
    assert _written(METHODS, User=user) == answers


@pytest.mark.parametrize(
    ("user", "fields"),
    [(BASIC, "&{ann}"), (HEADER, "&{ h@x []}"), (OIDC, "&{ann Ann Lee Ann Lee a@x [dev ops] true}")],
)
def test_a_user_s_fields_depend_on_how_it_signed_in(user, fields):
    """The fields are those of s3-proxy."""
    assert _written("{{.User}}", User=user) == fields


def test_a_kind_of_user_that_is_not_known_has_a_name():
    """An unknown kind has the fields of BASIC."""
    assert type_name(user_value(User("ann", "TOKEN"))) == "*models.BasicAuthUser"
    assert user_of(BASIC).username == "ann"


def test_a_url_without_user_has_none():
    """The methods of an absent userinfo return empty texts."""
    request = {**DOCUMENT["Request"], "URL": "/a"}
    text = "{{print .Request.URL.User}}|{{.Request.URL.User.Username}}|{{.Request.URL.User.String}}|{{if .Request.URL.User}}x{{end}}"
    assert _written(text, Request=request) == "|||"


def test_the_absent_user_of_a_go_program_is_nil():
    """That is what recorded answers show."""
    assert _written("{{.User}}|{{if .User}}x{{end}}|{{empty .User}}", User=None) == "<nil>||true"


CAPTURES = Captures(("/k", "a", None), {"one": 1, "two": 2})
DATA = TargetKeyRewriteData(
    "/k",
    User("ann"),
    RequestData(
        method="PUT",
        host="h",
        path="/a b",
        raw_query="x=1",
        headers=(("host", "h"), ("x-y", "z")),
        scheme="https",
        remote_address="::1",
    ),
    TargetData("site", mount_paths=("/",)),
)


def _of_rule(text, data=DATA):
    return Program(text, HELM).execute(root(CAPTURES, data, budget()), budget()).decode()


def test_a_rule_s_request_is_that_of_a_server():
    """The URL of the request has only path and query."""
    text = (
        "{{.Request.Method}} {{.Request.URL}} {{.Request.RequestURI}} {{.Request.Header}} {{if .Request.TLS}}tls{{end}}"
    )
    assert _of_rule(text) == "PUT /a%20b?x=1 /a%20b?x=1 map[X-Y:[z]] tls"


def test_groups_are_read_by_name_and_by_number():
    """A group that took no part is empty."""
    text = '{{.Groups.one}}{{index .Groups "1"}}{{index .Groups "0"}}[{{.Groups.two}}]{{get .Groups "one"}}'
    assert _of_rule(text) == "aa/k[]a"


def test_request_and_groups_are_the_same_throughout_a_rendering():
    """Two reads give the same object, like pointers and maps in Go."""
    assert _of_rule('{{eq .Request.URL.Path .Request.URL.Path}}{{$_ := set .Groups "x" "y"}}{{.Groups.x}}') == "truey"
    assert _of_rule("{{eq .Request .Request}}") == "true"


def test_a_group_that_does_not_exist_is_an_error():
    """Not an empty text, and not `<no value>`."""
    with pytest.raises(RenderError, match="unknown group `nope`"):
        _of_rule("{{$x := .Groups}}{{$x.nope}}")


@pytest.mark.parametrize(
    "text",
    [
        "{{.User}}",
        "{{.User.Username}}",
        "{{.User.GetUsername}}",
        "{{$u := .User}}{{$u.Username}}",
        "{{print .User}}",
        '{{printf "%v" .User}}',
        '{{printf "%p" .User}}',
        '{{printf "%d" .User}}',
        "{{quote .User}}",
        "{{toString .User}}",
        "{{toJson .User}}",
        "{{html .User}}",
        "{{list .User}}",
        '{{join "," .User}}',
        "{{kindOf .User}}",
        '{{eq .User "ann"}}',
        "{{deepEqual .User nil}}",
        "{{range .User}}{{end}}",
        "{{len .User}}",
        "{{upper .User}}",
        "{{or .User .User}}",
        '{{cat "a" .User}}',
        '{{.User.Username | default "anon"}}',
        '{{template "a" .User}}{{define "a"}}{{.Username}}{{end}}',
    ],
)
def test_whoever_reads_from_an_absent_user_fails(text):
    """So that no key has a hole where a name should be."""
    with pytest.raises(MissingUserError):
        _of_rule(text, TargetKeyRewriteData("/k"))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{if .User}}x{{else}}anon{{end}}", "anon"),
        ("{{with .User}}{{.Username}}{{else}}anon{{end}}", "anon"),
        ("{{not .User}}{{empty .User}}{{eq .User nil}}{{eq nil .User}}", "truetruetruetrue"),
        ("{{and .User .User.Username | not}}", "true"),
        ('{{default "anon" .User}}{{coalesce .User "x"}}', "anonx"),
        ('{{if or (not .User) (eq .User.Username "ann")}}y{{end}}', "y"),
    ],
)
def test_whether_there_is_a_user_is_a_legal_question(text, result):
    """A condition on an absent user does not fail."""
    assert _of_rule(text, TargetKeyRewriteData("/k")) == result


def test_an_absent_user_is_false_and_nil():
    """Its type cannot be read."""
    nobody = AbsentUser()
    assert (is_true(nobody), is_nil(nobody)) == (False, True)
    with pytest.raises(MissingUserError):
        type_name(nobody)
