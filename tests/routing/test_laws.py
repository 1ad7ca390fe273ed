"""Properties of routing for arbitrary keys, encodings, templates and users."""

import re
from contextlib import suppress
from urllib.parse import quote, unquote, urljoin, urlsplit

from hypothesis import example, given
from hypothesis import strategies as st

from tornado_proxy.config.actions import Actions, DeleteAction, GetAction, PutAction
from tornado_proxy.config.model import Bucket
from tornado_proxy.routing.mounts import RouteMatch
from tornado_proxy.routing.plan import (
    Browse,
    Receive,
    Redirect,
    RedirectToSignedUrl,
    Refuse,
    Remove,
    Serve,
    website_location,
)
from tornado_proxy.routing.request import RequestError, object_key
from tornado_proxy.rules.model import Key, path_objection, segment_objection
from tornado_proxy.semantics.request import Request

DOTS = st.sampled_from([".", "..", "%2e", "%2E%2e", "%252e", "%c0%ae", "..;"])
CHARACTERS = st.sampled_from("/\\+%?#~: \n\x00\u202e\ud800é🦀a")
TEXTS = st.lists(DOTS | CHARACTERS | st.text(max_size=3), max_size=8).map("".join)
VALID_NAMES = TEXTS.filter(lambda text: path_objection(f"/{text}") is None)
BUCKETS = st.builds(
    Bucket, st.just("bucket"), st.sampled_from(["", "folder1/", "a/b/", "é/"]), leading_slash=st.booleans()
)
ACTIONS = Actions(
    get=GetAction(index_document="index.html", redirect_with_trailing_slash_for_not_found_file=True),
    delete=DeleteAction(enabled=True),
)


def _object_key_prefix(bucket):
    return f"{'/' if bucket.leading_slash else ''}{bucket.prefix}"


def _keys(attempts):
    """Yields the object keys and prefixes that a plan would request from S3."""
    for attempt in attempts:
        if isinstance(attempt, Serve | RedirectToSignedUrl | Remove | Receive):
            yield attempt.key
        elif isinstance(attempt, Browse):
            yield attempt.prefix
        elif isinstance(attempt, Redirect) and attempt.below is not None:
            yield attempt.below


def _is_inside(bucket, key):
    return key.startswith(_object_key_prefix(bucket)) and not {".", ".."} & set(key.split("/"))


def _escaped(text, always):
    """Percent-encodes the characters of a text that need an escape, and those in `always`."""
    return "".join(f"%{byte:02x}" if chr(byte) in always else quote(bytes([byte])) for byte in text.encode())


@given(VALID_NAMES, BUCKETS, st.sets(st.characters(max_codepoint=127)), st.sampled_from(["/", "/mount/"]))
@example("", Bucket("b"), set(), "/")
@example("/leading", Bucket("b"), set(), "/")
@example("100%.txt", Bucket("b"), set(), "/")
@example("a+b c?d#e//f", Bucket("b"), {"/"}, "/mount/")
@example("k" * 1024, Bucket("b"), {"k"}, "/mount/")
@example("é" * 512, Bucket("b"), set(), "/")
def test_every_key_that_a_client_can_name_is_reached(decide_request, make_site, name, bucket, always, mount):
    """A key in any percent-encoding, below any mount and prefix, leads to exactly that object key."""
    decision = decide_request(make_site(bucket=bucket, mount=mount), f"GET /{_escaped((mount + name)[1:], always)}")
    reached = object_key(bucket, decision.match.key)
    assert reached == _object_key_prefix(bucket) + name
    assert reached in _keys(decision.plan)


@given(TEXTS)
def test_no_encoded_path_leaves_its_prefix(decide_request, make_site, raw):
    """Any text on the request line is refused, or leads to keys inside the prefix."""
    bucket = Bucket("bucket", "folder1/")
    request = "/" + raw.encode(errors="surrogatepass").decode("latin-1")
    for method in ("GET", "DELETE"):
        with suppress(RequestError):
            decision = decide_request(make_site(bucket=bucket, actions=ACTIONS), f"{method} {request}")
            assert all(_is_inside(bucket, key) for key in _keys(decision.plan))


@given(TEXTS, TEXTS, BUCKETS, st.sampled_from(["GET /a", "GET /a/", "DELETE /a"]))
def test_no_template_and_no_user_name_leaves_the_prefix(
    decide_request, resources_for, scripted_template, make_site, text, name, bucket, line
):
    """Any result of a template, with any user's name in it, is refused, or leads to keys inside the prefix."""
    template = scripted_template(lambda data: text + data.user.username)
    site = make_site((".", template), bucket=bucket, actions=ACTIONS, resources=resources_for(name))
    plan = decide_request(site, line, name).plan
    assert all(_is_inside(bucket, key) for key in _keys(plan))
    assert isinstance(plan[-1], Remove | Refuse)


@given(TEXTS, st.sampled_from(["/$0", "$1", "/x/$1/../$1", "${1}x"]))
def test_no_capture_leaves_the_prefix(decide_request, make_site, name, template):
    """Any capture in a plain template is refused, or leads to keys inside the prefix."""
    bucket = Bucket("bucket", "folder1/")
    site = make_site(("^/(.*)$", template), bucket=bucket, actions=ACTIONS)
    with suppress(RequestError):
        decision = decide_request(site, f"GET /{quote(name, errors='surrogatepass')}")
        assert all(_is_inside(bucket, key) for key in _keys(decision.plan))


@given(TEXTS, BUCKETS)
def test_no_file_name_leaves_its_directory(decide_request, make_site, name, bucket):
    (attempt,) = decide_request(make_site(bucket=bucket), "PUT /dir/", file_name=name).plan
    match attempt:
        case Receive():
            directory, _, last = attempt.key.rpartition("/")
            assert directory == f"{_object_key_prefix(bucket)}dir"
            assert last not in {"", ".", ".."}
        case _:
            assert attempt.status == 400


@given(VALID_NAMES.filter(lambda name: name.rpartition("/")[2] != ""))
def test_a_location_leads_to_the_stored_object(decide_request, make_site, name):
    """A GET of an upload's `Location` requests the object key that was written."""
    site = make_site(bucket=Bucket("bucket", "folder1/"), mount="/m/")
    directory, _, last = name.rpartition("/")
    (received,) = decide_request(site, f"PUT /m/{quote(directory)}/", file_name=last).plan
    assert decide_request(site, f"GET {received.location}").plan[0] == Serve(received.key)


ISOLATED = Actions(
    get=GetAction(
        index_document="index.html",
        redirect_with_trailing_slash_for_not_found_file=True,
        user_isolation=True,
        user_isolation_admins=("root",),
    ),
    put=PutAction(enabled=True),
    delete=DeleteAction(enabled=True),
)
USERS = st.sampled_from(["ann", "an", "ann.b", "änn", "a@b.example"]) | VALID_NAMES.filter(
    lambda name: segment_objection(name) is None
)


@given(
    TEXTS,
    TEXTS,
    USERS,
    BUCKETS,
    st.sampled_from(["", "$0", "/$1", "/ben/$1", "/x/$1", "$1/../$1", "/${1}x"]),
    st.sampled_from(["GET /", "HEAD /", "PUT /", "DELETE /"]),
)
@example("../ben/secret", "x", "ann", Bucket("b"), "", "GET /")
@example("%2e%2e/ben/secret", "../../ben/x", "ann", Bucket("b"), "", "PUT /")
@example("ben/secret", "x", "ann", Bucket("b"), "/ben/$1", "GET /")
def test_no_path_no_rule_and_no_name_reaches_another_user_s_directory(
    decide_request, make_site, resources_for, raw, file_name, user, bucket, template, start
):
    pairs = [("(.*)", template)] if template else []
    site = make_site(*pairs, bucket=bucket, actions=ISOLATED, resources=resources_for(user))
    with suppress(RequestError):
        request = f"{start}{quote(raw, safe='/%', errors='surrogatepass')}{'/' if start == 'PUT /' else ''}"
        decision = decide_request(site, request, user, file_name)
        home = f"{_object_key_prefix(bucket)}{user}/"
        assert all(key.startswith(home) and _is_inside(bucket, key) for key in _keys(decision.plan))


_STARTS = st.sampled_from(
    ["", "/", "//", "/\\", "/folder1/", "https://good.example", "http:", "HTTPS://", "javascript:", "/%2F"]
)


@given(st.builds("{}{}".format, _STARTS, TEXTS), BUCKETS, st.sampled_from(["/", "/mount/"]))
def test_an_object_redirects_below_the_mount_or_to_the_host_that_it_names(make_site, value, bucket, mount):
    """A browser that follows any redirect of an object stays below the mount, or goes to the host that the text names."""
    try:
        place = website_location(value, RouteMatch(make_site(bucket=bucket), mount, Key("/")), Request(), Key("/"))
    except RequestError:
        return
    reached = urlsplit(urljoin("https://files.example/x", place.replace("\\", "/")))
    assert re.fullmatch("[!-~]+", place)
    if place.startswith("/"):
        assert (reached.hostname, reached.path[: len(mount)]) == ("files.example", mount)
        assert not {".", ".."} & {*unquote(reached.path).split("/")}
    else:
        assert (reached.scheme in {"http", "https"}, reached.hostname) == (True, urlsplit(value).hostname)
