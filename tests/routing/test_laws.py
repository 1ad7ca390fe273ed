"""Laws for every key, every encoding of it, every template and every user."""

from contextlib import suppress
from urllib.parse import quote

from hypothesis import example, given
from hypothesis import strategies as st

from tornado_proxy.config.actions import Actions, DeleteAction, GetAction, PutAction
from tornado_proxy.config.model import Bucket
from tornado_proxy.routing.plan import Browse, Receive, Redirect, Refuse, Remove, Serve, Sign
from tornado_proxy.routing.request import RequestError, object_key
from tornado_proxy.rules.model import path_objection, segment_objection

DOTS = st.sampled_from([".", "..", "%2e", "%2E%2e", "%252e", "%c0%ae", "..;"])
SIGNS = st.sampled_from("/\\+%?#~: \n\x00\u202e\ud800é🦀a")
TEXTS = st.lists(DOTS | SIGNS | st.text(max_size=3), max_size=8).map("".join)
NAMED = TEXTS.filter(lambda text: path_objection(f"/{text}") is None)
BUCKETS = st.builds(
    Bucket, st.just("bucket"), st.sampled_from(["", "folder1/", "a/b/", "é/"]), leading_slash=st.booleans()
)
ACTIONS = Actions(
    get=GetAction(index_document="index.html", redirect_with_trailing_slash_for_not_found_file=True),
    delete=DeleteAction(enabled=True),
)


def _floor(bucket):
    return f"{'/' if bucket.leading_slash else ''}{bucket.prefix}"


def _keys(attempts):
    """What a plan would ask S3 for."""
    for each in attempts:
        if isinstance(each, Serve | Sign | Remove | Receive):
            yield each.key
        elif isinstance(each, Browse):
            yield each.prefix
        elif isinstance(each, Redirect) and each.below is not None:
            yield each.below


def _is_inside(bucket, key):
    return key.startswith(_floor(bucket)) and not {".", ".."} & set(key.split("/"))


def _escaped(text, always):
    """A percent-encoding of a text: what must be escaped is, and of the rest what `always` holds."""
    return "".join(f"%{byte:02x}" if chr(byte) in always else quote(bytes([byte])) for byte in text.encode())


@given(NAMED, BUCKETS, st.sets(st.characters(max_codepoint=127)), st.sampled_from(["/", "/mount/"]))
@example("", Bucket("b"), set(), "/")
@example("/leading", Bucket("b"), set(), "/")
@example("100%.txt", Bucket("b"), set(), "/")
@example("a+b c?d#e//f", Bucket("b"), {"/"}, "/mount/")
@example("k" * 1024, Bucket("b"), {"k"}, "/mount/")
@example("é" * 512, Bucket("b"), set(), "/")
def test_every_key_that_a_client_can_name_is_reached(decided, site, name, bucket, always, mount):
    """Escaped in any way, decoded, taken off its mount and joined, a key is exactly the one that was meant."""
    found = decided(site(bucket=bucket, mount=mount), f"GET /{_escaped((mount + name)[1:], always)}")
    reached = object_key(bucket, found.match.key)
    assert reached == _floor(bucket) + name
    assert reached in _keys(found.plan)


@given(NAMED)
def test_a_leading_slash_is_reached_where_the_bucket_has_them(decided, site, name):
    """With `leadingSlash` the whole object key begins with a slash; the request path is the same."""
    bucket = Bucket("bucket", leading_slash=True)
    found = decided(site(bucket=bucket), f"GET /{quote(name)}")
    assert object_key(bucket, found.match.key) == f"/{name}"


@given(TEXTS)
def test_no_path_however_encoded_leaves_its_prefix(decided, site, raw):
    """Whatever stands on the request line is refused, or asks for keys inside the prefix."""
    bucket = Bucket("bucket", "folder1/")
    request = "/" + raw.encode(errors="surrogatepass").decode("latin-1")
    for method in ("GET", "DELETE"):
        with suppress(RequestError):
            found = decided(site(bucket=bucket, actions=ACTIONS), f"{method} {request}")
            assert all(_is_inside(bucket, key) for key in _keys(found.plan))


@given(TEXTS, TEXTS, BUCKETS, st.sampled_from(["GET /a", "GET /a/", "DELETE /a"]))
def test_no_template_whatever_the_user_is_called_leaves_the_prefix(
    decided, signed_in, scripted, site, text, name, bucket, line
):
    """Whatever a template makes, of whatever name, is refused, or asks for keys inside the prefix."""
    template = scripted(lambda data: text + data.user.username)
    site = site((".", template), bucket=bucket, actions=ACTIONS, resources=signed_in(name))
    found = decided(site, line, name).plan
    assert all(_is_inside(bucket, key) for key in _keys(found))
    assert isinstance(found[-1], Remove | Refuse)


@given(TEXTS, st.sampled_from(["/$0", "$1", "/x/$1/../$1", "${1}x"]))
def test_no_capture_leaves_the_prefix(decided, site, name, template):
    """What a plain template inserts of the key is checked as what any other template makes."""
    bucket = Bucket("bucket", "folder1/")
    site = site(("^/(.*)$", template), bucket=bucket, actions=ACTIONS)
    with suppress(RequestError):
        found = decided(site, f"GET /{quote(name, errors='surrogatepass')}")
        assert all(_is_inside(bucket, key) for key in _keys(found.plan))


@given(TEXTS, BUCKETS)
def test_no_file_name_leaves_its_directory(decided, site, name, bucket):
    """Whatever a form calls its file, it is refused, or stored in the directory that was asked for."""
    (found,) = decided(site(bucket=bucket), "PUT /dir/", file_name=name).plan
    match found:
        case Receive():
            directory, _, last = found.key.rpartition("/")
            assert directory == f"{_floor(bucket)}dir"
            assert last not in {"", ".", ".."}
        case _:
            assert found.status == 400


@given(NAMED.filter(lambda name: name.rpartition("/")[2] != ""))
def test_a_location_leads_to_what_was_stored(decided, site, name):
    """GET of an upload's `Location` asks for the very object key that was written."""
    site = site(bucket=Bucket("bucket", "folder1/"), mount="/m/")
    directory, _, last = name.rpartition("/")
    (received,) = decided(site, f"PUT /m/{quote(directory)}/", file_name=last).plan
    assert decided(site, f"GET {received.location}").plan[0] == Serve(received.key)


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
USERS = st.sampled_from(["ann", "an", "ann.b", "änn", "a@b.example"]) | NAMED.filter(
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
    decided, site, signed_in, raw, file_name, user, bucket, template, start
):
    """Every key of an isolated user lies in the directory of that name."""
    pairs = [("(.*)", template)] if template else []
    isolated = site(*pairs, bucket=bucket, actions=ISOLATED, resources=signed_in(user))
    with suppress(RequestError):
        request = f"{start}{quote(raw, safe='/%', errors='surrogatepass')}{'/' if start == 'PUT /' else ''}"
        decision = decided(isolated, request, user, file_name)
        home = f"{_floor(bucket)}{user}/"
        assert all(key.startswith(home) and _is_inside(bucket, key) for key in _keys(decision.plan))
