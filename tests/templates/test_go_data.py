import pytest
from go_programs import HELM, budget, request_root

from gotemplate.regexp.matching import Captures
from gotemplate.template.errors import LimitError, RenderError
from gotemplate.template.program import Program
from gotemplate.template.values import Struct
from tornado_proxy.semantics.request import Request, User
from tornado_proxy.templates.go_data import REQUEST, request_facts, root
from tornado_proxy.templates.template import MissingUserError, TargetData, TargetKeyRewriteData

SERVER_REQUEST = Request(
    method="GET",
    host="h.com",
    path="/a b",
    raw_query="x=2&x=1&y=%26&bad=%zz",
    headers=(("accept", "*/*"), ("Host", "h.com"), ("X-Tag", "1"), ("x-tag", "2")),
    scheme="https",
)


def _rendered_request(text):
    render_budget = budget()
    return (
        Program(text, HELM)
        .execute(Struct(REQUEST, request_facts(SERVER_REQUEST, render_budget)), render_budget)
        .decode()
    )


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
def test_a_request_has_the_form_of_go_s_server(text, result):
    """Header names are canonical, the host is not a header, and invalid pairs of the query are left out."""
    assert _rendered_request(text) == result


def test_each_read_of_the_query_is_a_new_value():
    assert _rendered_request("{{sortAlpha (index .URL.Query `x`)}}{{index .URL.Query `x`}}") == "[1 2][2 1]"


@pytest.mark.parametrize("part", ["header", "query", "request_uri"])
def test_parts_of_a_request_are_charged_by_size(part):
    """The header, the query and the URI of a large request take more steps than a small budget has."""
    large = Request(path="/" + "a" * 1000, raw_query="a=1&" * 1000, headers=(("a", "1"),) * 1000)
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


def _rendered(text, **changes):
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
def test_data_have_the_fields_and_methods_of_go(expression, value):
    assert _rendered(f"{{{{print {expression}}}}}") == value


METHODS = "{{with .User}}{{.GetType}} {{.GetIdentifier}} {{.GetUsername}} {{.GetName}} {{.GetGivenName}} {{.GetFamilyName}} {{.GetEmail}} {{.GetGroups}} {{.IsEmailVerified}}{{end}}"


@pytest.mark.parametrize(
    ("user", "results"),
    [
        (BASIC, "BASIC ann ann     [] false"),
        (HEADER, "HEADER h@x     h@x [] false"),
        (OIDC, "OIDC ann ann Ann Lee Ann Lee a@x [dev ops] true"),
    ],
)
def test_every_user_has_the_same_methods(user, results):
    """A method returns an empty value for a user without it."""
    assert _rendered(METHODS, User=user) == results


@pytest.mark.parametrize(
    ("user", "fields"), [(BASIC, "&{ann}"), (HEADER, "&{ h@x []}"), (OIDC, "&{ann Ann Lee Ann Lee a@x [dev ops] true}")]
)
def test_the_fields_of_a_user_depend_on_its_kind(user, fields):
    """The fields of each kind of user are those of s3-proxy."""
    assert _rendered("{{.User}}", User=user) == fields


def test_the_absent_user_of_a_go_program_is_nil():
    """An absent user is written as nil, as in the recorded results."""
    assert _rendered("{{.User}}|{{if .User}}x{{end}}|{{empty .User}}", User=None) == "<nil>||true"


CAPTURES = Captures(("/k", "a", None), {"one": 1, "two": 2})
DATA = TargetKeyRewriteData(
    "/k",
    User("ann"),
    Request(
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


def _rendered_rule(text, data=DATA):
    return Program(text, HELM).execute(root(CAPTURES, data, budget()), budget()).decode()


def test_a_missing_group_is_an_error():
    """A missing group is neither an empty text nor `<no value>`."""
    with pytest.raises(RenderError, match="unknown group `nope`"):
        _rendered_rule("{{$x := .Groups}}{{$x.nope}}")


@pytest.mark.parametrize(
    "text",
    [
        "{{.User}}", "{{.User.Username}}", "{{.User.GetUsername}}", "{{$u := .User}}{{$u.Username}}",
        "{{print .User}}", '{{printf "%v" .User}}', '{{printf "%p" .User}}', '{{printf "%d" .User}}',
        "{{quote .User}}", "{{toString .User}}", "{{toJson .User}}", "{{html .User}}", "{{list .User}}",
        '{{join "," .User}}', "{{kindOf .User}}", '{{eq .User "ann"}}', "{{deepEqual .User nil}}",
        "{{range .User}}{{end}}", "{{len .User}}", "{{upper .User}}", "{{or .User .User}}", '{{cat "a" .User}}',
        '{{.User.Username | default "anon"}}', '{{template "a" .User}}{{define "a"}}{{.Username}}{{end}}',
    ],
)  # fmt: skip
def test_reading_an_absent_user_fails(text):
    """Any use of an absent user fails, so that no key has a gap in the place of a name."""
    with pytest.raises(MissingUserError):
        _rendered_rule(text, TargetKeyRewriteData("/k"))


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
def test_a_template_may_test_whether_there_is_a_user(text, result):
    """A condition on an absent user does not fail."""
    assert _rendered_rule(text, TargetKeyRewriteData("/k")) == result
