from __future__ import annotations

import re

import pytest
from conversions import BASIC, converted, converted_target
from hypothesis import example, given
from hypothesis import strategies as st

from tornado_proxy.goregex.matching import compile_pattern
from tornado_proxy.routing.access import Access, Anyone, Nobody, SignedIn, path_expression
from tornado_proxy.routing.request import RequestPath
from tornado_proxy.tools.convert.options import OptionOutcome
from tornado_proxy.tools.convert.resources import PRIVATE_NETWORKS, apart, glob_here

TARGETS = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"
SECRET = "clientSecret: {env: SECRET}"
NEEDED = "issuerUrl: 'https://id.example', clientID: me, state: s"


def _oidc(options):
    return converted(f"{TARGETS}authProviders: {{oidc: {{id: {{{NEEDED}, {options}}}}}}}\n")


def _provider(options):
    return _oidc(options).document["authProviders"]["oidc"]["id"]


def test_a_provider_is_carried_over_as_it_is():
    """Every option with the same meaning is copied without a remark."""
    options = (
        "groupClaim: roles, cookieName: session, scopes: [openid, email], cookieDomains: [example.org],"
        " emailVerified: true, cookieSecure: true, loginPath: /in, callbackPath: /back, redirectUrl: 'https://a.example/'"
    )
    done = _oidc(f"{SECRET}, {options}")
    assert done.document["authProviders"]["oidc"]["id"] == {
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
    assert done.report.complete


def test_the_path_of_the_redirect_url_is_a_part_of_the_callback_s():
    """s3-proxy joins the two paths, too."""
    done = _provider(f"{SECRET}, redirectUrl: 'https://a.example/files/'")
    assert (done["redirectUrl"], done["callbackPath"]) == ("https://a.example", "/files/auth/id/callback")
    assert done["loginPath"] == "/auth/id"


@pytest.mark.parametrize(("secret", "why"), [("", "there is no"), ("clientSecret: {value: short},", "is too short")])
def test_sessions_without_a_secret_get_a_random_one(secret, why):
    """Each conversion makes another key; the report says so."""
    first, second = (_oidc(f"{secret} emailVerified: true") for _ in range(2))
    keys = [each.document["authProviders"]["oidc"]["id"]["sessionKey"]["value"] for each in (first, second)]
    assert keys[0] != keys[1]
    assert all(len(each) >= 40 for each in keys)
    assert any(why in message for message in first.messages(OptionOutcome.ADAPTED))


def test_headers_are_believed_from_private_networks():
    """s3-proxy believes everyone; the report says so."""
    headers = "usernameHeader: X-User, emailHeader: X-Email, groupsHeader: X-Groups"
    done = converted(f"{TARGETS}authProviders: {{header: {{front: {{{headers}}}}}}}\n")
    assert done.document["server"]["trustedProxies"] == list(PRIVATE_NETWORKS)
    assert done.document["authProviders"]["header"]["front"]["groupsHeader"] == "X-Groups"
    (message,) = done.messages(OptionOutcome.CHANGED)
    assert message.startswith("headers that name a user are believed from 127.0.0.0/8, ")


def test_providers_of_one_name_get_names_of_their_own():
    """In s3-proxy a name must be unique within its kind only."""
    done = converted(f"{TARGETS}authProviders: {{basic: {{id: {{realm: R}}}}, oidc: {{id: {{{NEEDED}, {SECRET}}}}}}}\n")
    assert done.document["authProviders"]["basic"] == {"id": {"realm": "R"}}
    assert done.document["authProviders"]["oidc"]["id-oidc"]["loginPath"] == "/auth/id"
    assert "another provider is named `id`: this one is `id-oidc`" in done.messages(OptionOutcome.ADAPTED)


PLAIN_GLOBS = st.lists(st.sampled_from(["/", "/", "a", "b", "*", "**"]), max_size=6).map(
    lambda parts: "/" + "".join(parts)
)
SHORT_PATHS = st.text("/ab", max_size=6).map(lambda text: f"/{text}")


def _covers_there(glob, path):
    parts = re.findall(r"\*\*|.", glob)
    return (
        re.fullmatch("".join({"**": ".*", "*": "[^/]*"}.get(part, re.escape(part)) for part in parts), path) is not None
    )


@given(PLAIN_GLOBS, SHORT_PATHS)
def test_a_glob_covers_the_same_paths_here(glob, path):
    """The converted glob covers exactly the paths of s3-proxy's."""
    here = glob_here(glob)
    assert (here is None) == ("***" in glob)
    if here is not None:
        assert (compile_pattern(path_expression(here)).search(path) is not None) == _covers_there(glob, path)


@given(PLAIN_GLOBS, PLAIN_GLOBS, SHORT_PATHS)
def test_globs_that_are_apart_cover_no_path_together(one, other, path):
    """Globs that begin differently cover no path together."""
    if apart(one, other):
        assert not (_covers_there(one, path) and _covers_there(other, path))


@pytest.mark.parametrize(("one", "other"), [("/a/**", "/b"), ("/a/b*", "/a/c/**")])
def test_globs_of_different_directories_are_apart(one, other):
    """Globs of different directories are told apart."""
    assert apart(one, other)


ANN = "provider: staff, basic: {credentials: [{user: ann, password: {env: ANN}}]}"
BOB = "provider: staff, basic: {credentials: [{user: bob, password: {env: BOB}}]}"
WAYS = {
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


def _expression(glob):
    """What s3-proxy's globs match, with `/` as separator (github.com/gobwas/glob)."""
    parts = re.findall(r"\*\*|\*|\?|\[[^]]*\]|\{[^}]*\}|.", glob)
    meanings = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(
        meanings.get(part)
        or (part if part.startswith("[") and len(part) > 1 else None)
        or (f"(?:{part[1:-1].replace(',', '|')})" if part.startswith("{") and len(part) > 1 else re.escape(part))
        for part in parts
    )


def _allowed_there(resources, path, method):
    """Who may in s3-proxy: None is anyone, a set of users, or the provider of those who sign in without a password."""
    for glob, methods, way in resources:
        if method in methods and re.fullmatch(_expression(glob), path, re.DOTALL):
            return WAYS[way]
    return set()


def _text(resources):
    lines = (f"- {{path: '{glob}', methods: [{', '.join(methods)}], {way}}}" for glob, methods, way in resources)
    return "actions: {GET: {enabled: true}, PUT: {enabled: true}}\nresources:\n" + "\n".join(lines)


SEGMENTS = st.sampled_from(["a", "b", "ab", "*", "**", "a*", "**b", "?", "{a,b}", "[ab]"])
GLOBS = st.builds(
    lambda segments, end: "/" + "/".join(segments) + end, st.lists(SEGMENTS, max_size=3), st.sampled_from(["", "/"])
)
RESOURCES = st.lists(
    st.tuples(GLOBS, st.sampled_from([["GET"], ["PUT"], ["GET", "PUT"]]), st.sampled_from(list(WAYS))),
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
@example([("/a/**", ["GET"], "provider: front, header: {}"), ("/**", ["GET"], "whiteList: true")], "/a/b", "GET")
def test_nothing_is_opened_that_was_closed(resources, path, method):
    """Everyone who may use a path here may use it in s3-proxy."""
    (site,) = converted_target(_text(resources), providers=PROVIDERS).settings.targets
    theirs = _allowed_there(resources, path, method)
    match Access(site.resources).guard(RequestPath(path), method):
        case Anyone():
            assert theirs is None
        case SignedIn(provider, users):
            assert theirs is None or ({each.user for each in users} if users else {provider}) <= theirs
        case Nobody():
            pass


LEFT_OUT = {
    "provider: staff, basic: {credentials: []}": "none of its users can sign in here",
    "whiteList: true, header: {}": "its `provider` is not one of `authProviders.header`",
    "provider: company, oidc: {authorizationAccesses: [{group: '(', regexp: true}]}": (
        "a rule's expression cannot be converted: unclosed group"
    ),
}


@pytest.mark.parametrize(("rest", "reason"), LEFT_OUT.items())
def test_a_resource_that_cannot_be_expressed_is_closed(rest, reason):
    """The report names what is closed, and why."""
    done = converted_target(
        f"resources: [{{path: /kept, whiteList: true}}, {{path: /a/**, {rest}}}]", providers=PROVIDERS
    )
    (message,) = done.messages(OptionOutcome.CLOSED)
    assert message.endswith(f"of `/a/**` is closed to everyone: {reason}")
    assert len(done.settings.targets[0].resources) == 1


RULES = {
    "authorizationAccesses: [{group: a, email: a@example.org, forbidden: true}, {email: '.*@b$', regexp: true}]": {
        "authorizationAccesses": [
            {"group": "a", "forbidden": True},
            {"email": "a@example.org", "forbidden": True},
            {"email": ".*@b$", "regexp": True},
        ]
    },
    "authorizationOPAServer: {url: 'http://opa.example/v1/data/allow', tags: {Site: press}}": {
        "authorizationOPAServer": {"url": "http://opa.example/v1/data/allow", "tags": {"site": "press"}}
    },
}


@pytest.mark.parametrize(("rules", "here"), RULES.items())
@pytest.mark.parametrize(("kind", "provider"), [("oidc", "company"), ("header", "front")])
def test_who_may_pass_is_carried_over(rules, here, kind, provider):
    """A rule with a group and an email address becomes two rules, because either is enough."""
    done = converted_target(
        f"resources: [{{path: /a, provider: {provider}, {kind}: {{{rules}}}}}]", providers=PROVIDERS
    )
    (resource,) = done.document["targets"]["site"]["resources"]
    assert (resource["provider"], resource[kind]) == (provider, here)
    assert not done.messages(OptionOutcome.CLOSED, OptionOutcome.LEFT_OUT)


@pytest.mark.parametrize("glob", ["/a%20b", "/[ab]", "/{a,b}", "/a?", "/é", "/a***", r"/\*"])
def test_a_glob_that_means_something_else_here_is_left_out(glob):
    """Globs with characters that clients escape, or with syntax that is unknown here, are not converted."""
    done = converted_target(f"resources: [{{path: /kept, whiteList: true}}, {{path: '{glob}', whiteList: true}}]")
    assert len(done.messages(OptionOutcome.CLOSED)) == 1


def test_a_later_resource_stays_if_it_covers_other_requests():
    """Only a resource that may cover the same requests is left out too."""
    done = converted_target(
        "actions: {GET: {enabled: true}, DELETE: {enabled: true}}\n"
        "resources: [{path: /a/**, provider: staff, basic: {}}, {path: /b/**, whiteList: true},"
        " {path: /a/x, methods: [DELETE], whiteList: true}, {path: /**, whiteList: true}]"
    )
    assert [(each.path, each.methods) for each in done.settings.targets[0].resources] == [
        ("/b/*/**", ("GET", "HEAD")),
        ("/a/x", ("DELETE",)),
    ]


def test_a_star_that_older_versions_read_otherwise_is_pointed_out():
    """In versions before April 2026 a single `*` matched slashes."""
    (message,) = converted_target("resources: [{path: /a/*, whiteList: true}]").messages(OptionOutcome.CHANGED)
    assert message.startswith("`*` in `/a/*` stops at `/`")


def test_head_goes_with_get():
    """If HEAD is enabled, a resource for GET covers it too."""
    done = converted_target(
        "actions: {GET: {enabled: true}, HEAD: {enabled: true}}\nresources: [{path: /a, whiteList: true}]"
    )
    assert done.messages(OptionOutcome.CHANGED) == ["HEAD is allowed with GET; s3-proxy needs it to be named"]


USERS = {
    "{user: a/b, password: {env: ANN}}": "it is not a user name",
    "{user: bob}": "it has no password",
}


@pytest.mark.parametrize(("user", "reason"), USERS.items())
def test_a_user_that_cannot_sign_in_is_left_out(user, reason):
    """The other users of the resource stay."""
    done = converted_target(
        f"resources: [{{path: /a, provider: staff, basic: {{credentials: [{{user: ann, password: {{env: ANN}}}}, {user}]}}}}]"
    )
    (message,) = done.messages(OptionOutcome.LEFT_OUT)
    assert message.endswith(f"is left out: {reason}")
    assert [each.user for each in done.settings.targets[0].resources[0].users] == ["ann"]


def test_of_several_ways_basic_authentication_goes_before_anyone():
    """In s3-proxy, too, `whiteList` has no effect beside `basic`."""
    (site,) = converted_target(f"resources: [{{path: /a, whiteList: true, {ANN}}}]").settings.targets
    assert (site.resources[0].white_list, site.resources[0].provider) == (False, "staff")


def test_an_upload_is_asked_about_twice():
    """The path of an uploaded file has its name, which a resource for the directory does not cover."""
    done = converted_target(
        "actions: {PUT: {enabled: true}}\nresources: [{path: /up/, methods: [PUT], whiteList: true}]"
    )
    assert "access is checked with the path of an uploaded file too, which `/up/` may not cover" in done.messages()
