import msgspec
import pytest
from msgspec import structs

from tornado_proxy.config.actions import Actions, DeleteAction, GetAction, PutAction
from tornado_proxy.config.model import Bucket
from tornado_proxy.routing.mounts import RouteMatch
from tornado_proxy.routing.plan import (
    Attempt,
    Browse,
    ListTargets,
    OfferForm,
    ReadForm,
    Receive,
    Redirect,
    RedirectToSignedUrl,
    Refuse,
    Remove,
    Serve,
    VisitProvider,
    tries_files,
    website_location,
)
from tornado_proxy.routing.request import BadAddress, ObjectKey
from tornado_proxy.routing.upload_steps import AbortUpload, BeginUpload, CompleteUpload, ListParts, ReceivePart
from tornado_proxy.rules.model import Key
from tornado_proxy.semantics.request import Request

NO_OBJECT = Refuse(404, "no object at this key")
NO_DIRECTORY = Refuse(404, "no objects below this key")
INDEX = Actions(get=GetAction(index_document="index.html"))
SLASHES = Actions(get=GetAction(redirect_with_trailing_slash_for_not_found_file=True))
FOLDER = Bucket("bucket", prefix="folder1/")
DIRECTORY = "the rewritten key is a directory's: it ends in `/`"


@pytest.fixture(scope="session")
def plan_request(decide_request):
    """Plans a request to a site."""
    return lambda site, request, user=None: decide_request(site, request, user).plan


@pytest.fixture(scope="session")
def plan_upload(decide_request):
    """Plans an upload of a named file to a site."""
    return lambda site, request, name: decide_request(site, request, file_name=name).plan


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_path_that_ends_in_a_slash_is_a_directory(plan_request, make_site, method):
    """It is listed, or else 404; any other path is a file: served, or else 404."""
    assert plan_request(make_site(), f"{method} /dir/") == (Browse("dir/"), NO_DIRECTORY)
    assert plan_request(make_site(), f"{method} /file.html") == (Serve("file.html"), NO_OBJECT)


def test_a_rewritten_root_stays_the_root(plan_request, make_site):
    """The request path decides whether a directory is the root."""
    assert plan_request(make_site(("^/$", "/site/")), "GET /") == (Browse("site/", root=True),)
    assert plan_request(make_site(("^/a/$", "/")), "GET /a/") == (Browse("", root=False), NO_DIRECTORY)


def test_an_index_document_is_tried_before_the_listing(plan_request, make_site):
    plan = (Serve("dir/index.html", ("/dir/index.html",)), Browse("dir/"), NO_DIRECTORY)
    assert plan_request(make_site(actions=INDEX), "GET /dir/") == plan
    assert plan_request(make_site(actions=INDEX), "HEAD /dir/") == plan


def test_a_disabled_listing_is_forbidden(plan_request, make_site):
    """With `disableListing` a directory is answered with its index document, or else with 403."""
    get = GetAction(index_document="index.html", disable_listing=True)
    forbidden = Refuse(403, "listing is disabled")
    expected = (Serve("d/index.html", ("/d/index.html",)), forbidden)
    assert plan_request(make_site(actions=Actions(get=get)), "GET /d/") == expected
    assert plan_request(make_site(actions=Actions(get=GetAction(disable_listing=True))), "GET /d/") == (forbidden,)


def test_an_index_document_with_a_key_that_is_too_long_is_not_tried(plan_request, make_site):
    """A directory whose key leaves no room for an index document is browsed at once."""
    directory = "d" * 1020 + "/"
    assert plan_request(make_site(actions=INDEX), f"GET /{directory}") == (Browse(directory), NO_DIRECTORY)


def test_a_missing_file_may_be_a_directory(plan_request, make_site):
    """With `redirectWithTrailingSlashForNotFoundFile` a missing file is redirected to the directory, if there is one."""
    redirect = Redirect("/dir/?a=1&b=%20+", below="dir/", paths=("/dir/",))
    assert plan_request(make_site(actions=SLASHES), "GET /dir?a=1&b=%20+") == (Serve("dir"), redirect, NO_OBJECT)


def test_the_slash_redirect_comes_after_the_rewrite(plan_request, make_site):
    """The objects below the rewritten key decide; the location is the requested path with a slash."""
    site = make_site(("^/old(.*)$", "/new$1"), bucket=FOLDER, actions=SLASHES, mount="/m/")
    redirect = Redirect("/m/old/dir/", below="folder1/new/dir/", paths=("/m/old/dir/",))
    assert plan_request(site, "GET /m/old/dir") == (Serve("folder1/new/dir"), redirect, NO_OBJECT)


@pytest.mark.parametrize(
    ("request_line", "location"),
    [
        ("GET //evil.example", "/%2Fevil.example/"),
        ("GET /%2Fevil.example/x", "/%2Fevil.example/x/"),
        ("GET /%5Cevil.example", "/%5Cevil.example/"),
        ("GET /a%3Fb%23c%20d", "/a%3Fb%23c%20d/"),
        ("GET /é?é", "/%C3%A9/?%C3%A9"),
        ('GET /a?x="<#>', "/a/?x=%22%3C%23%3E"),
        ("GET /a?x=%2e&y=[1]{2}|^`\\~", "/a/?x=%2e&y=[1]{2}|^`\\~"),
    ],
)
def test_a_slash_redirect_stays_on_this_host(plan_request, make_site, request_line, location):
    """A redirect leads to a percent-encoded absolute path that no browser reads as another host; the query is kept."""
    latin1_line = request_line.encode().decode("latin-1")
    redirect = plan_request(make_site(actions=SLASHES), latin1_line)[1]
    assert redirect.location == location


def test_a_key_of_1024_bytes_is_not_redirected(plan_request, make_site):
    """A file whose key has 1024 bytes is not a directory, because its slash would be byte 1025."""
    key = "k" * 1024
    assert plan_request(make_site(actions=SLASHES), f"GET /{key}") == (Serve(key), NO_OBJECT)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_mount_path_without_its_slash_is_redirected(plan_request, make_site, method):
    site = make_site(("^/$", "/wrong"), mount="/m/")
    assert plan_request(site, f"{method} /m?x=1") == (Redirect("/m/?x=1"),)


def test_a_get_may_be_redirected_to_a_signed_url(plan_request, make_site):
    """With `redirectToSignedUrl` a client fetches a file from S3 itself; HEAD is served from the store."""
    actions = Actions(get=GetAction(redirect_to_signed_url=True, signed_url_expiration=60))
    assert plan_request(make_site(actions=actions), "GET /a") == (RedirectToSignedUrl("a", 60), NO_OBJECT)
    assert plan_request(make_site(actions=actions), "HEAD /a") == (Serve("a"), NO_OBJECT)


@pytest.mark.parametrize(
    ("value", "location"),
    [
        ("/folder1/new.html", "/m/new.html"),
        ("/folder1/a%20b/ä c?x=1&y=%#top", "/m/a%20b/%C3%A4%20c?x=1&y=%25#top"),
        ("/folder1/100%", "/m/100%25"),
        ("/folder1/", "/m/"),
        ("/folder1", "/m/"),
        ("/folder1//evil.example/", "/m//evil.example/"),
        ("https://example.org/new page?x#y", "https://example.org/new%20page?x#y"),
        ("HTTP://example.org", "HTTP://example.org"),
    ],
)
def test_an_object_redirects_within_the_bucket_or_to_another_site(make_site, value, location):
    """A path is a key from the bucket's root, below the mount what is below the prefix; a URL stays as it is."""
    match = RouteMatch(make_site(bucket=FOLDER, mount="/m/"), "/m/", Key("/old"))
    assert website_location(value, match, Request(), Key("/")) == location


@pytest.mark.parametrize(
    "value",
    [
        "new.html", "/other/new.html", "/folder12/new.html", "//folder1/x", "/folder1/%2e%2e/x", "/folder1/../x", "/folder1/%ff",
        "/folder1/a\nb", "/folder1/a%0Ab", "https://example.org/\r\nSet-Cookie: x", "https://", "javascript:alert(1)", "ftp://a/b",
        "https://user@example.org/", "https:example.org",
    ],
)  # fmt: skip
def test_an_object_redirects_to_nothing_else(make_site, value):
    """A text that is no path of the target and no URL, or has control characters, leads nowhere."""
    match = RouteMatch(make_site(bucket=FOLDER, mount="/m/"), "/m/", Key("/old"))
    with pytest.raises(BadAddress):
        website_location(value, match, Request(), Key("/"))


def test_the_path_of_a_redirect_names_no_host(make_site):
    match = RouteMatch(make_site(), "/", Key("/old"))
    assert website_location("/%2Fevil.example/", match, Request(), Key("/")) == "/%2Fevil.example/"


@pytest.mark.parametrize("bucket", [FOLDER, structs.replace(FOLDER, leading_slash=True)])
def test_an_object_of_an_isolated_user_redirects_below_the_users_directory(make_site, bucket):
    """A key of the user's own directory has no name of the user in its address; another user's has no address."""
    match, asked = RouteMatch(make_site(bucket=bucket), "/", Key("/old")), Request(public_path="/files")
    assert website_location("/folder1/ann/new", match, asked, Key("/ann/")) == "/files/new"
    with pytest.raises(BadAddress):
        website_location("/folder1/bob/new", match, asked, Key("/ann/"))


@pytest.mark.parametrize(("method", "status"), [("GET", 404), ("HEAD", 404), ("PUT", 403), ("DELETE", 403)], ids=str)
def test_a_file_that_becomes_a_directory_is_refused(plan_request, plan_upload, make_site, method, status):
    """A request for a file is refused if its rewritten key ends in a slash."""
    site = make_site(("^/f", "/dir/"), actions=Actions(put=PutAction(enabled=True), delete=DeleteAction(enabled=True)))
    plan = plan_upload(site, "PUT /", "f") if method == "PUT" else plan_request(site, f"{method} /f")
    assert plan == (Refuse(status, DIRECTORY),)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_rewritten_directory_gets_its_slash(plan_request, make_site, method):
    """The closing slash is added, because a listing of `/other` would show `/other-secret/` too."""
    assert plan_request(make_site(("^/dir/$", "/other")), f"{method} /dir/") == (Browse("other/"), NO_DIRECTORY)


def test_a_file_is_removed(plan_request, make_site):
    assert plan_request(make_site(("^/a$", "/b"), bucket=FOLDER), "DELETE /a") == (Remove("folder1/b"),)


@pytest.mark.parametrize("path", ["/", "/dir/", "/m/", "/m"])
def test_a_directory_is_never_removed(plan_request, make_site, path):
    """DELETE of a directory gets 403, even if a rewrite would make a file of it."""
    mount = "/m/" if path.startswith("/m") else "/"
    plan = plan_request(make_site((".*", "/file"), mount=mount), f"DELETE {path}")
    assert plan == (
        Refuse(403, "a directory cannot be deleted", message="A directory cannot be deleted, only its files"),
    )


@pytest.mark.parametrize("path", ["/dir", "/m"])
def test_an_upload_to_a_file_is_refused(plan_request, plan_upload, make_site, path):
    """PUT to the path of a file gets 400, before and after the form is read."""
    message = "An upload is a form, sent to an address that ends in “/”"
    refused = (Refuse(400, "the path of an upload does not end in `/`", message=message),)
    site = make_site(mount="/m/" if path == "/m" else "/")
    assert plan_request(site, f"PUT {path}") == refused
    assert plan_upload(site, f"PUT {path}", "a.txt") == refused


def test_a_raw_upload_is_received_under_its_path(plan_request, make_site):
    """With raw uploads, PUT to a file's path stores the body there; the bare mount path is not a file's path."""
    site = make_site(
        (r"^/in/(.+)$", "/archive/$1"), mount="/m/", actions=Actions(put=PutAction(enabled=True, raw_uploads=True))
    )
    (receive,) = plan_request(site, "PUT /m/in/a.txt")
    assert (receive.key, receive.location) == ("archive/a.txt", "/m/in/a.txt")
    assert plan_request(site, "PUT /m")[0].status == 400


DIRECT = Actions(put=PutAction(enabled=True, allow_override=True, direct_uploads=True, max_size=10))


def test_a_direct_upload_has_the_rewritten_key(plan_request, make_site):
    """A direct upload has the limits of the target, and at most those of S3."""
    site = make_site((r"^/in/(.+)$", "/archive/$1"), mount="/m/", bucket=FOLDER, actions=DIRECT)
    assert plan_request(site, "PUT /m/in/a.txt?upload=direct") == (
        OfferForm("folder1/archive/a.txt", "/m/in/a.txt", 10, 300),
    )
    for max_size in (None, 5 * 1024**3 + 1):
        large = msgspec.structs.replace(DIRECT.put, max_size=max_size, direct_upload_expiration=60)
        plan = plan_request(make_site(actions=Actions(put=large)), "PUT /a?upload=direct")
        assert plan == (OfferForm("a", "/a", 5 * 1024**3, 60),)


@pytest.mark.parametrize("actions", [DIRECT, Actions(put=PutAction(enabled=True))])
@pytest.mark.parametrize("query", ["", "?x=direct", "?upload=direct"])
def test_a_direct_upload_must_be_requested_and_enabled(plan_request, make_site, actions, query):
    """Any other query leaves an upload unchanged; a directory and the bare mount path are not files."""
    is_requested, is_enabled = query == "?upload=direct", actions is DIRECT
    plan = plan_request(make_site(actions=actions), f"PUT /a{query}")
    assert isinstance(plan[0], OfferForm) is (is_enabled and is_requested)
    refused = 403 if is_requested and not is_enabled else 400
    assert plan_request(make_site(mount="/m/", actions=actions), f"PUT /m{query}")[0].status == refused
    directory = plan_request(make_site(actions=actions), f"PUT /d/{query}")[0]
    assert directory.status == refused if is_requested else isinstance(directory, ReadForm)


@pytest.mark.parametrize(
    "path", ["/.tornado-proxy/a.css", "/.tornado-proxy/", "/d/.tornado-proxy/sub/a", "/%2Etornado-proxy/a"]
)
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_the_directory_of_page_files_cannot_be_changed(plan_request, make_site, method, path):
    """Uploads and deletions below `.tornado-proxy/` get 403, because a file of the service could hide them; reading is allowed."""
    actions = Actions(put=PutAction(enabled=True, raw_uploads=True), delete=DeleteAction(enabled=True))
    (refused,) = plan_request(make_site(actions=actions), f"{method} {path}")
    assert (refused.status, refused.reason) == (403, "`.tornado-proxy/` is for the service's own files")
    assert isinstance(plan_request(make_site(actions=actions), "GET /.tornado-proxy/a.css")[0], Serve)
    assert isinstance(plan_request(make_site(actions=actions), "PUT /x.tornado-proxy/a.css")[0], Receive)


def test_a_direct_upload_to_a_key_with_a_variable_is_refused(plan_request, make_site):
    """A key that contains `${filename}` gets 400, because S3 would replace it with a name that the sender chooses."""
    (refused,) = plan_request(make_site(actions=DIRECT), "PUT /mine/$%7Bfilename%7D?upload=direct")
    assert refused.status == 400


@pytest.mark.parametrize("request_line", ["GET /", "HEAD /", "DELETE /"])
def test_a_key_that_is_too_long_is_refused(plan_request, make_site, request_line):
    """An object key of more than 1024 bytes, prefix included, gets 400."""
    (refused,) = plan_request(make_site(bucket=FOLDER), request_line + "k" * 1017)
    assert (refused.status, refused.reason) == (400, "the object key is longer than 1024 bytes")


ATTEMPTS = [
    Serve(ObjectKey("a")),
    Browse(ObjectKey("a/")),
    ReadForm(),
    Receive(ObjectKey("a"), "/a"),
    OfferForm(ObjectKey("a"), "/a", 10, 60),
    BeginUpload(ObjectKey("a"), "/a", 1, replace=False, max_size=None),
    ReceivePart(ObjectKey("a"), "x", 1, max_total=None),
    ListParts(ObjectKey("a"), "x"),
    CompleteUpload(ObjectKey("a"), "/a", "x", 1, replace=False, max_size=None),
    AbortUpload(ObjectKey("a"), "x"),
    Remove(ObjectKey("a")),
    RedirectToSignedUrl(ObjectKey("a"), 60),
    Redirect("/a/"),
    VisitProvider("id", "login"),
    ListTargets(),
    Refuse(404, "no object at this key"),
]


def test_the_union_of_attempts_is_complete():
    assert {type(attempt) for attempt in ATTEMPTS} == set(Attempt.__args__)


def test_an_index_document_may_be_redirected_to_a_signed_url(decide_request, make_site):
    """`redirectToSignedUrl` applies to index documents too; HEAD is served from the store."""
    get = GetAction(index_document="index.html", redirect_to_signed_url=True, signed_url_expiration=60)
    site = make_site(actions=Actions(get=get))
    assert decide_request(site, "GET /a/").plan[0] == RedirectToSignedUrl("a/index.html", 60, ("/a/index.html",))
    assert decide_request(site, "HEAD /a/").plan[0] == Serve("a/index.html", ("/a/index.html",))


def _trying(*templates, **options):
    return Actions(get=GetAction(try_files=templates, index_document="index.html", **options))


CLEAN = ("$path", "$path.html", "$path/", "/index.html")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_addresses_of_try_files_are_tried_in_turn(plan_request, make_site, method):
    """A file's own address needs no further decision; each other one is decided by its own path."""
    site = make_site(actions=_trying(*CLEAN), bucket=FOLDER, mount="/m/")
    assert plan_request(site, f"{method} /m/docs/v1.2") == (
        Serve("folder1/docs/v1.2"),
        Serve("folder1/docs/v1.2.html", ("/m/docs/v1.2.html",)),
        Serve("folder1/docs/v1.2/index.html", ("/m/docs/v1.2/", "/m/docs/v1.2/index.html")),
        Serve("folder1/index.html", ("/m/index.html",)),
        NO_OBJECT,
    )


def test_a_path_with_a_closing_slash_is_tried_without_it(plan_request, make_site):
    """What the directory itself has, its index document and its listing, comes after the last `$path`."""
    assert plan_request(make_site(actions=_trying(*CLEAN)), "GET /docs/") == (
        Serve("docs", ("/docs",)),
        Serve("docs.html", ("/docs.html",)),
        Serve("docs/index.html", ("/docs/index.html",)),
        Browse("docs/"),
        Serve("index.html", ("/index.html",)),
        NO_DIRECTORY,
    )
    assert plan_request(make_site(actions=_trying("$path.html")), "GET /docs/") == (
        Serve("docs.html", ("/docs.html",)),
        Serve("docs/index.html", ("/docs/index.html",)),
        Browse("docs/"),
        NO_DIRECTORY,
    )


def test_the_root_has_no_name_to_try_an_ending_of(plan_request, make_site):
    """A listing of the root always answers, so nothing follows it; without listings, the rest is tried."""
    index, fallback = Serve("index.html", ("/m/index.html",)), Serve("app.html", ("/m/app.html",))
    listed = make_site(actions=_trying("$path", "$path.html", "$path/", "/app.html"), mount="/m/")
    closed = make_site(actions=_trying("$path", "$path.html", "/app.html", disable_listing=True), mount="/m/")
    assert plan_request(listed, "GET /m/") == (index, Browse("", root=True))
    assert plan_request(closed, "GET /m/") == (index, fallback, Refuse(403, "listing is disabled"))
    assert plan_request(listed, "GET /m") == (Redirect("/m/"),)


def test_the_slash_redirect_comes_after_the_attempts_of_the_path(plan_request, make_site):
    """A directory is not hidden by the page that answers every unknown address."""
    actions = _trying("$path", "$path.html", "/app.html", redirect_with_trailing_slash_for_not_found_file=True)
    assert plan_request(make_site(actions=actions), "GET /docs") == (
        Serve("docs"),
        Serve("docs.html", ("/docs.html",)),
        Redirect("/docs/", "docs/", ("/docs/",)),
        Serve("app.html", ("/app.html",)),
        NO_OBJECT,
    )


def test_an_object_is_tried_once(plan_request, make_site):
    """The page for unknown addresses may be asked for itself."""
    site = make_site(actions=_trying("$path", "/index.html"))
    assert plan_request(site, "GET /index.html") == (Serve("index.html"), NO_OBJECT)


def test_the_address_itself_is_tried_only_if_it_is_listed(plan_request, make_site):
    """Without `$path`, the object of the path is not served."""
    site = make_site(actions=_trying("$path.html"))
    assert plan_request(site, "GET /a") == (Serve("a.html", ("/a.html",)), NO_OBJECT)


def test_each_address_that_is_tried_is_rewritten(plan_request, make_site):
    """An address leads where a request for it would; one that leads to no file is passed over."""
    site = make_site(("^/feed$", "/feeds/all.xml"), (r"^/feed\.html$", "/x/"), actions=_trying("$path", "$path.html"))
    assert plan_request(site, "GET /feed/")[0] == Serve("feeds/all.xml", ("/feed",))
    assert plan_request(site, "GET /feed") == (Serve("feeds/all.xml"), NO_OBJECT)


def test_an_address_that_would_be_refused_is_passed_over(plan_request, make_site):
    """Neither a result that cannot be a key, nor a dot segment, nor a key that is too long is tried."""
    site = make_site((r"^/a\.html$", "/../x"), actions=_trying("$path", "$path.html"))
    assert plan_request(site, "GET /a") == (Serve("a"), NO_OBJECT)
    dotted = make_site(actions=_trying("$path."))
    assert plan_request(dotted, "GET /a//")[0] == Serve("a//index.html", ("/a//index.html",))
    assert plan_request(site, f"GET /{'k' * 1024}") == (Serve("k" * 1024), NO_OBJECT)


def test_an_own_address_that_is_refused_tries_nothing(plan_request, make_site):
    """A rewrite of the requested address that fails is answered as without `tryFiles`."""
    (only,) = plan_request(make_site(("^/a$", "/../x"), actions=_trying("$path", "/index.html")), "GET /a")
    assert only.status == 400


def test_a_rewritten_directory_does_not_end_the_attempts(plan_request, make_site):
    """A file whose rewritten key is a directory's is no file, but its other addresses may be."""
    site = make_site(("^/a$", "/a/"), actions=_trying("$path", "$path/"))
    assert plan_request(site, "GET /a") == (Serve("a/index.html", ("/a/", "/a/index.html")), Refuse(404, DIRECTORY))


def test_isolated_users_try_addresses_of_their_own(decide_request, make_site, resources_for):
    site = make_site(actions=_trying(*CLEAN, user_isolation=True), resources=resources_for("ann"))
    plan = decide_request(site, "GET /a", user="ann").plan
    assert [each.key for each in plan[:-1]] == ["ann/a", "ann/a.html", "ann/a/index.html", "ann/index.html"]


def test_tried_files_may_be_redirected_to_signed_urls(plan_request, make_site):
    actions = _trying("$path", "$path.html", redirect_to_signed_url=True, signed_url_expiration=60)
    expected = (RedirectToSignedUrl("a", 60), RedirectToSignedUrl("a.html", 60, ("/a.html",)), NO_OBJECT)
    assert plan_request(make_site(actions=actions), "GET /a") == expected


def test_a_plan_may_have_several_files(plan_request, make_site):
    """An index document alone is no choice."""
    assert tries_files(plan_request(make_site(actions=_trying("$path", "$path.html")), "GET /a"))
    assert not tries_files(plan_request(make_site(actions=INDEX), "GET /a/"))


def test_only_reading_tries_addresses(plan_request, make_site):
    """An upload and a removal are for the address that they name."""
    raw = PutAction(enabled=True, raw_uploads=True)
    site = make_site(actions=Actions(GetAction(try_files=CLEAN), put=raw, delete=DeleteAction(enabled=True)))
    assert plan_request(site, "PUT /a") == (Receive("a", "/a"),)
    assert plan_request(site, "DELETE /a") == (Remove("a"),)
