import re

import pytest
from conversions import BASIC, converted, converted_target
from hypothesis import example, given
from hypothesis import strategies as st

from gotemplate.regexp.matching import compile_pattern
from tornado_proxy.routing.access import Access, Anyone, Nobody, SignedIn, path_expression
from tornado_proxy.semantics.request import RequestPath
from tornado_proxy.tools.convert.options import OptionOutcome
from tornado_proxy.tools.convert.resources import PRIVATE_NETWORKS, apart, globs_here

TARGETS = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"
SECRET = "clientSecret: {env: SECRET}"
NEEDED = "issuerUrl: 'https://id.example', clientID: me, state: s"


def _oidc(options):
    return converted(f"{TARGETS}authProviders: {{oidc: {{id: {{{NEEDED}, {options}}}}}}}\n")


def test_a_provider_is_converted_unchanged():
    """Every option with the same meaning is copied without a remark."""
    options = (
        "groupClaim: roles, cookieName: session, scopes: [openid, email], cookieDomains: [example.org],"
        " emailVerified: true, cookieSecure: true, loginPath: /in, callbackPath: /back, redirectUrl: 'https://a.example/'"
    )
    conversion = _oidc(f"{SECRET}, {options}")
    assert conversion.document["authProviders"]["oidc"]["id"] == {
        "issuerUrl": "https://id.example",
        "clientID": "me",
        "clientSecret": {"env": "SECRET"},
        "groupClaim": "roles",
        "cookieName": "session",
        "scopes": ["openid", "email"],
        "cookieDomains": ["example.org"],
        "emailVerified": True,
        "cookieSecure": True,
        "redirectUrl": "https://a.example/",
        "loginPath": "/in",
        "callbackPath": "/back",
    }
    assert conversion.report.complete


def test_a_claim_of_groups_with_dots_is_reported():
    """Rules that never applied may let users pass here."""
    conversion = _oidc(f"{SECRET}, groupClaim: realm.roles")
    assert conversion.subjects(OptionOutcome.CHANGED) == ["authProviders.oidc.id.groupClaim"]


@pytest.mark.parametrize("name", ["credentials", "mount", "x.y"])
def test_a_provider_may_be_named_as_an_option_is(name):
    """Its options are those of a provider."""
    conversion = converted(f"{TARGETS}authProviders: {{oidc: {{{name}: {{{NEEDED}, {SECRET}, groupClaim: g}}}}}}\n")
    assert conversion.document["authProviders"]["oidc"][name]["groupClaim"] == "g"
    assert conversion.report.complete


def test_the_path_of_the_redirect_url_is_joined_with_the_callback_path():
    """s3-proxy joins the two paths, too."""
    conversion = _oidc(f"{SECRET}, redirectUrl: 'https://a.example/files/'")
    provider = conversion.document["authProviders"]["oidc"]["id"]
    assert (provider["redirectUrl"], provider["callbackPath"]) == ("https://a.example", "/files/auth/id/callback")
    assert provider["loginPath"] == "/auth/id"


@pytest.mark.parametrize(
    ("secret", "message_part"), [("", "there is no"), ("clientSecret: {value: short},", "is too short")]
)
def test_sessions_without_a_secret_get_a_random_one(secret, message_part):
    """Each conversion makes another key, and the report mentions it."""
    first, second = (_oidc(f"{secret} emailVerified: true") for _ in range(2))
    keys = [conversion.document["authProviders"]["oidc"]["id"]["sessionKey"]["value"] for conversion in (first, second)]
    assert keys[0] != keys[1]
    assert all(len(key) >= 40 for key in keys)
    assert any(message_part in message for message in first.messages(OptionOutcome.ADAPTED))


def test_headers_are_trusted_from_private_networks():
    """s3-proxy trusts every sender, so the report mentions the difference."""
    headers = "usernameHeader: X-User, emailHeader: X-Email, groupsHeader: X-Groups"
    conversion = converted(f"{TARGETS}authProviders: {{header: {{front: {{{headers}}}}}}}\n")
    assert conversion.document["server"]["trustedProxies"] == list(PRIVATE_NETWORKS)
    assert conversion.document["authProviders"]["header"]["front"]["groupsHeader"] == "X-Groups"
    (message,) = conversion.messages(OptionOutcome.CHANGED)
    assert message.startswith("headers that name a user are believed from loopback and private networks only")


def test_providers_with_the_same_name_are_renamed():
    """In s3-proxy a name must be unique only among providers of its kind."""
    conversion = converted(
        f"{TARGETS}authProviders: {{basic: {{id: {{realm: R}}}}, oidc: {{id: {{{NEEDED}, {SECRET}}}}}}}\n"
    )
    assert conversion.document["authProviders"]["basic"] == {"id": {"realm": "R"}}
    assert conversion.document["authProviders"]["oidc"]["id-oidc"]["loginPath"] == "/auth/id"
    assert "another provider is named `id`: this one is `id-oidc`" in conversion.messages(OptionOutcome.ADAPTED)


PLAIN_GLOBS = st.lists(st.sampled_from(["/", "/", "a", "b", "*", "**"]), max_size=6).map(
    lambda parts: "/" + "".join(parts)
)
SHORT_PATHS = st.text("/ab", max_size=6).map(lambda text: f"/{text}")


def _covers_in_s3_proxy(glob, path):
    """Whether a glob covers a path in s3-proxy, where `/` is the separator (github.com/gobwas/glob 0.2.3)."""
    if ends := re.fullmatch(r"([^*?[{]*)\*\*([^*?[{]+)", glob):
        return path.startswith(ends[1]) and path.endswith(ends[2])  # the two may overlap
    parts = re.findall(r"\*\*|\*|\?|\[[^]]*\]|\{[^}]*\}|.", glob)
    meanings = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    expression = "".join(
        meanings.get(part)
        or (part if part.startswith("[") and len(part) > 1 else None)
        or (f"(?:{part[1:-1].replace(',', '|')})" if part.startswith("{") and len(part) > 1 else re.escape(part))
        for part in parts
    )
    return re.fullmatch(expression, path, re.DOTALL) is not None


@given(PLAIN_GLOBS, SHORT_PATHS)
@example("/b/**/a", "/b/a")
@example("/a/a/**/a/a/", "/a/a/a/")
def test_converted_globs_cover_the_same_paths(glob, path):
    converted_globs = globs_here(glob)
    assert (not converted_globs) == ("***" in glob)
    if converted_globs:
        covers = any(compile_pattern(path_expression(each)).search(path) for each in converted_globs)
        assert covers == _covers_in_s3_proxy(glob, path)


@given(PLAIN_GLOBS, PLAIN_GLOBS, SHORT_PATHS)
def test_separate_globs_cover_no_common_path(first, second, path):
    if apart(first, second):
        assert not (_covers_in_s3_proxy(first, path) and _covers_in_s3_proxy(second, path))


@pytest.mark.parametrize(("first", "second"), [("/a/**", "/b"), ("/a/b*", "/a/c/**")])
def test_globs_of_different_directories_are_separate(first, second):
    assert apart(first, second)


ANN = "provider: staff, basic: {credentials: [{user: ann, password: {env: ANN}}]}"
BOB = "provider: staff, basic: {credentials: [{user: bob, password: {env: BOB}}]}"
PASSED_BY_GUARD = {
    "whiteList: true": None,
    ANN: {"ann"},
    BOB: {"bob"},
    "provider: company, oidc: {authorizationAccesses: [{group: staff}]}": {"company"},
    "provider: front, header: {}": {"front"},
}
PROVIDERS = (
    f"{BASIC}, oidc: {{company: {{issuerUrl: 'https://id.example', clientID: me, state: s}}}},"
    " header: {front: {usernameHeader: X-User, emailHeader: X-Email}}"
)


def _allowed_in_s3_proxy(resources, path, method):
    """Returns the users or the provider that s3-proxy lets pass; None means everyone."""
    for glob, methods, guard in resources:
        if method in methods and _covers_in_s3_proxy(glob, path):
            return PASSED_BY_GUARD[guard]
    return set()


def _text(resources):
    lines = (f"- {{path: '{glob}', methods: [{', '.join(methods)}], {guard}}}" for glob, methods, guard in resources)
    return "actions: {GET: {enabled: true}, PUT: {enabled: true}}\nresources:\n" + "\n".join(lines)


SEGMENTS = st.sampled_from(["a", "b", "ab", "*", "**", "a*", "**b", "?", "{a,b}", "[ab]"])
GLOBS = st.builds(
    lambda segments, end: "/" + "/".join(segments) + end, st.lists(SEGMENTS, max_size=3), st.sampled_from(["", "/"])
)
RESOURCES = st.lists(
    st.tuples(GLOBS, st.sampled_from([["GET"], ["PUT"], ["GET", "PUT"]]), st.sampled_from(list(PASSED_BY_GUARD))),
    min_size=1,
    max_size=4,
)
PATHS = st.builds(
    lambda names, end: "/" + "/".join(names) + end,
    st.lists(st.sampled_from(["a", "b", "ab", ""]), max_size=3),
    st.sampled_from(["", "/"]),
)


@given(RESOURCES, PATHS, st.sampled_from(["GET", "PUT"]))
@example([("/a/**", ["GET"], "whiteList: true")], "/a", "GET")
@example([("/a/**/b", ["GET"], ANN), ("/a/**", ["GET"], "whiteList: true")], "/a/b", "GET")
@example([("/a/**", ["GET"], "provider: front, header: {}"), ("/**", ["GET"], "whiteList: true")], "/a/b", "GET")
def test_a_conversion_never_grants_additional_access(resources, path, method):
    """Every user who may use a path here may use it in s3-proxy."""
    (site,) = converted_target(_text(resources), providers=PROVIDERS).settings.targets
    allowed = _allowed_in_s3_proxy(resources, path, method)
    match Access(site.resources).guard(RequestPath(path), method):
        case Anyone():
            assert allowed is None
        case SignedIn(provider, users):
            assert allowed is None or ({user.user for user in users} if users else {provider}) <= allowed
        case Nobody():
            pass


LEFT_OUT = {
    "provider: staff, basic: {credentials: []}": "it has no user that tornado-proxy accepts",
    "whiteList: true, header: {}": "its `provider` is not one of `authProviders.header`",
    "provider: front, header: {authorizationAccesses: [{group: a, regexp: true}]}": (
        "s3-proxy answers 500 for a `regexp` in the rules of `header`, and it is the first"
    ),
}


@pytest.mark.parametrize(("options", "reason"), LEFT_OUT.items())
def test_a_resource_that_cannot_be_converted_is_closed(options, reason):
    conversion = converted_target(
        f"resources: [{{path: /kept, whiteList: true}}, {{path: /a/**, {options}}}]", providers=PROVIDERS
    )
    (message,) = conversion.messages(OptionOutcome.CLOSED)
    assert message.endswith(f"of `/a/**` is closed to everyone: {reason}")
    assert len(conversion.settings.targets[0].resources) == 1


RULES = {
    "authorizationAccesses: [{group: a, email: a@example.org, forbidden: true}, {group: b}]": {
        "authorizationAccesses": [
            {"group": "a", "forbidden": True},
            {"email": "a@example.org", "forbidden": True},
            {"group": "b"},
        ]
    },
    "authorizationOPAServer: {url: 'http://opa.example/v1/data/allow', tags: {Site: press}}": {
        "authorizationOPAServer": {"url": "http://opa.example/v1/data/allow", "tags": {"site": "press"}}
    },
}


@pytest.mark.parametrize(("rules", "expected"), RULES.items())
@pytest.mark.parametrize(("kind", "provider"), [("oidc", "company"), ("header", "front")])
def test_access_rules_are_converted(rules, expected, kind, provider):
    """A rule with a group and an email address becomes two rules, because either is enough."""
    conversion = converted_target(
        f"resources: [{{path: /a, provider: {provider}, {kind}: {{{rules}}}}}]", providers=PROVIDERS
    )
    (resource,) = conversion.document["targets"]["site"]["resources"]
    assert (resource["provider"], resource[kind]) == (provider, expected)
    assert not conversion.messages(OptionOutcome.CLOSED, OptionOutcome.LEFT_OUT)


RULES_WITH_EXPRESSIONS = "authorizationAccesses: [{group: a}, {email: '.*@b$', regexp: true}, {group: c}]"


def test_expressions_in_the_rules_of_oidc_are_converted():
    """s3-proxy compiles the expressions of these rules."""
    conversion = converted_target(
        f"resources: [{{path: /a, provider: company, oidc: {{{RULES_WITH_EXPRESSIONS}}}}}]", providers=PROVIDERS
    )
    (resource,) = conversion.document["targets"]["site"]["resources"]
    rules = [{"group": "a"}, {"email": ".*@b$", "regexp": True}, {"group": "c"}]
    assert resource["oidc"] == {"authorizationAccesses": rules}


def test_rules_of_header_end_at_the_first_expression():
    """s3-proxy answers 500 where it comes to one, so nobody passes by it or by a later rule."""
    conversion = converted_target(
        f"resources: [{{path: /a, provider: front, header: {{{RULES_WITH_EXPRESSIONS}}}}}]", providers=PROVIDERS
    )
    (resource,) = conversion.document["targets"]["site"]["resources"]
    assert resource["header"] == {"authorizationAccesses": [{"group": "a"}]}
    (message,) = conversion.messages(OptionOutcome.CLOSED)
    assert message.startswith("s3-proxy answers 500 where it comes to a `regexp` of `header`")
    assert not conversion.messages(OptionOutcome.LEFT_OUT)


@pytest.mark.parametrize("methods", ["[]", "''"])
def test_a_resource_without_a_method_covers_nothing(methods):
    """An empty list is not the default, which is GET."""
    conversion = converted_target(
        f"resources: [{{path: /a/**, methods: {methods}, whiteList: true}}, {{path: /b, methods: null, whiteList: true}}]"
    )
    (resource,) = conversion.settings.targets[0].resources
    assert (resource.path, resource.methods) == ("/b", ("GET", "HEAD"))
    assert conversion.messages(OptionOutcome.CLOSED) == [
        "`/a/**` is closed to everyone: it names no method that is enabled"
    ]


def test_a_resource_for_get_does_not_open_head_alone():
    """Where HEAD is enabled and GET is not, s3-proxy needs HEAD to be named."""
    conversion = converted_target(
        "actions: {HEAD: {enabled: true}, PUT: {enabled: true}}\n"
        "resources: [{path: /a, whiteList: true}, {path: /b, methods: [HEAD, GET], whiteList: true}]"
    )
    assert [(each["path"], each["methods"]) for each in conversion.document["targets"]["site"]["resources"]] == [
        ("/b", ["HEAD"])
    ]


@pytest.mark.parametrize("glob", ["/a%20b", "/[ab]", "/{a,b}", "/a?", "/é", "/a***", r"/\*"])
def test_a_glob_with_another_meaning_here_is_left_out(glob):
    """Globs with characters that clients escape, or with syntax that is unknown here, are not converted."""
    conversion = converted_target(f"resources: [{{path: /kept, whiteList: true}}, {{path: '{glob}', whiteList: true}}]")
    assert len(conversion.messages(OptionOutcome.CLOSED)) == 1


def test_a_glob_whose_ends_overlap_becomes_two_resources():
    """In s3-proxy `/a/**/b` covers `/a/b` too, so a later resource does not decide for it."""
    conversion = converted_target(
        f"resources: [{{path: /a/**/b, {ANN}}}, {{path: /a/**, whiteList: true}}]", providers=PROVIDERS
    )
    resources = conversion.settings.targets[0].resources
    expected = [("/a/*/**/b", "staff"), ("/a/b", "staff"), ("/a/*/**", None)]
    assert [(each.path, each.provider) for each in resources] == expected
    assert "GET of `/a/**/b` as `/a/*/**/b` and `/a/b`" in conversion.messages(OptionOutcome.CARRIED)


def test_the_page_of_all_targets_has_one_resource():
    """A glob that needs two closes the page."""
    conversion = converted(
        "listTargets: {enabled: true, mount: {path: [/l/]}, resource: {path: /l/**/, whiteList: true}}"
    )
    (message,) = conversion.messages(OptionOutcome.CLOSED)
    assert message.endswith("is closed to everyone: only several resources here would cover its paths")


def test_a_later_resource_is_kept_if_it_covers_other_requests():
    """Only a resource that may cover the same requests is left out, too."""
    conversion = converted_target(
        "actions: {GET: {enabled: true}, DELETE: {enabled: true}}\n"
        "resources: [{path: /a/**, provider: staff, basic: {}}, {path: /b/**, whiteList: true},"
        " {path: /a/x, methods: [DELETE], whiteList: true}, {path: /**, whiteList: true}]"
    )
    expected = [("/b/*/**", ("GET", "HEAD")), ("/a/x", ("DELETE",))]
    assert [(resource.path, resource.methods) for resource in conversion.settings.targets[0].resources] == expected


def test_a_resource_for_get_covers_head():
    """If HEAD is enabled, a resource for GET covers it, too."""
    conversion = converted_target(
        "actions: {GET: {enabled: true}, HEAD: {enabled: true}}\nresources: [{path: /a, whiteList: true}]"
    )
    assert conversion.messages(OptionOutcome.CHANGED) == ["HEAD is allowed with GET; s3-proxy needs it to be named"]


def test_a_user_that_cannot_sign_in_is_left_out():
    """The other users of the resource are kept."""
    conversion = converted_target(
        "resources: [{path: /a, provider: staff, basic: {credentials: [{user: ann, password: {env: ANN}}, {user: bob}]}}]"
    )
    (message,) = conversion.messages(OptionOutcome.LEFT_OUT)
    assert message.endswith("is left out: it has no password")
    assert [user.user for user in conversion.settings.targets[0].resources[0].users] == ["ann"]


def test_basic_authentication_has_priority_over_white_list():
    """In s3-proxy, too, `whiteList` has no effect beside `basic`."""
    conversion = converted_target(f"resources: [{{path: /a, whiteList: true, {ANN}}}]")
    (site,) = conversion.settings.targets
    assert (site.resources[0].white_list, site.resources[0].provider) == (False, "staff")
    assert conversion.messages(OptionOutcome.ADAPTED) == ["it has no effect beside `basic`, as in s3-proxy"]
    assert conversion.report.complete


def test_rules_hold_beside_a_white_list():
    """s3-proxy ignores the rules of who signed in, and the report says so."""
    options = "whiteList: true, provider: company, oidc: {authorizationAccesses: [{group: a}]}"
    conversion = converted_target(f"resources: [{{path: /a, {options}}}]", providers=PROVIDERS)
    message = "the rules of `oidc` hold beside it; s3-proxy lets everyone pass who signs in"
    assert message in conversion.messages(OptionOutcome.CHANGED)


def test_an_upload_to_a_covered_directory_is_remarked_on():
    """The path of an uploaded file has its name, which a resource for the directory does not cover."""
    conversion = converted_target(
        "actions: {PUT: {enabled: true}}\nresources: [{path: /up/, methods: [PUT], whiteList: true}]"
    )
    assert (
        "access is checked with the path of an uploaded file too, which `/up/` may not cover" in conversion.messages()
    )
