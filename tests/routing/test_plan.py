import dataclasses

import pytest

from tornado_proxy.config.actions import Actions, DeleteAction, GetAction, PutAction
from tornado_proxy.config.model import Bucket
from tornado_proxy.routing.plan import (
    Attempt,
    Browse,
    ListTargets,
    Presign,
    ReadForm,
    Receive,
    Redirect,
    Refuse,
    Remove,
    Serve,
    Sign,
    VisitProvider,
)
from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.routing.uploads import AbortUpload, BeginUpload, CompleteUpload, ListParts, ReceivePart

NO_OBJECT = Refuse(404, "no object at this key")
NO_DIRECTORY = Refuse(404, "no objects below this key")
INDEX = Actions(get=GetAction(index_document="index.html"))
SLASHES = Actions(get=GetAction(redirect_with_trailing_slash_for_not_found_file=True))
FOLDER = Bucket("bucket", prefix="folder1/")
DIRECTORY = "the rewritten key is a directory's: it ends in `/`"


@pytest.fixture(scope="session")
def planned(decided):
    """The plan of a request to a site."""
    return lambda site, request, user=None: decided(site, request, user).plan


@pytest.fixture(scope="session")
def uploaded(decided):
    """The plan of an upload to a site."""
    return lambda site, request, name: decided(site, request, file_name=name).plan


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_file_is_served_or_not_there(planned, site, method):
    """A path that does not end in a slash is a file: served, else 404."""
    assert planned(site(), f"{method} /file.html") == (Serve("file.html"), NO_OBJECT)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_directory_is_browsed_or_not_there(planned, site, method):
    """A path that ends in a slash is a directory: listed, else 404."""
    assert planned(site(), f"{method} /dir/") == (Browse("dir/"), NO_DIRECTORY)


def test_the_root_of_a_mount_is_always_browsed(planned, site):
    """An empty mount root is an empty listing, so its listing is told that it stands for the root."""
    assert planned(site(mount="/m/"), "GET /m/") == (Browse("", root=True),)


def test_the_root_stays_the_root_when_it_is_rewritten(planned, site):
    """The request path decides whether a directory is the root."""
    assert planned(site(("^/$", "/site/")), "GET /") == (Browse("site/", root=True),)
    assert planned(site(("^/a/$", "/")), "GET /a/") == (Browse("", root=False), NO_DIRECTORY)


def test_an_index_document_is_tried_before_the_listing(planned, site):
    """A configured index document is the directory's answer where it is there, the listing where it is not."""
    plan = (Serve("dir/index.html", index=True), Browse("dir/"), NO_DIRECTORY)
    assert planned(site(actions=INDEX), "GET /dir/") == plan
    assert planned(site(actions=INDEX), "HEAD /dir/") == plan


def test_the_index_document_comes_after_the_rewrite(planned, site):
    """A source never sees the index document's name; it is joined to the rewritten directory."""
    pairs = (("index", "/wrong"), ("^/dir/$", "/other"))
    assert planned(site(*pairs, actions=INDEX), "GET /dir/")[:2] == (
        Serve("other/index.html", index=True),
        Browse("other/"),
    )


@pytest.mark.parametrize("name", ["a//b", "/a", "..a", "a."])
def test_an_index_document_is_joined_as_it_stands(planned, site, name):
    """A directory's key is never cleaned: `//` stays, and the index document lies in exactly that directory."""
    assert planned(site(actions=INDEX), f"GET /{name}/")[0] == Serve(f"{name}/index.html", index=True)


def test_a_rewritten_key_has_no_leading_slash_in_s3(planned, site):
    """A target written as `/redirected/` lists `redirected/`: the slash is a key's, not an object key's."""
    assert planned(site(("^/dir/$", "/redirected/")), "GET /dir/")[0] == Browse("redirected/")


def test_a_query_takes_no_part_in_the_key(planned, site):
    """What stands behind `?` names no object and matches no source."""
    assert planned(site(("x", "/wrong")), "GET /dir/?x=/y#x")[0] == Browse("dir/")


def test_a_disabled_listing_is_forbidden(planned, site):
    """With `disableListing` a directory is its index document, or 403."""
    get = GetAction(index_document="index.html", disable_listing=True)
    forbidden = Refuse(403, "listing is disabled")
    assert planned(site(actions=Actions(get=get)), "GET /d/") == (Serve("d/index.html", index=True), forbidden)
    assert planned(site(actions=Actions(get=GetAction(disable_listing=True))), "GET /d/") == (forbidden,)


def test_an_index_document_that_no_key_can_name_is_not_looked_for(planned, site):
    """A directory's key may be so long that S3 can hold no index document in it."""
    directory = "d" * 1020 + "/"
    assert planned(site(actions=INDEX), f"GET /{directory}") == (Browse(directory), NO_DIRECTORY)


def test_a_file_that_is_not_there_may_be_a_directory(planned, site):
    """With `redirectWithTrailingSlashForNotFoundFile` a missing file leads to the directory, if there is one."""
    redirect = Redirect("/dir/?a=1&b=%20+", below="dir/")
    assert planned(site(actions=SLASHES), "GET /dir?a=1&b=%20+") == (Serve("dir"), redirect, NO_OBJECT)


def test_the_slash_redirect_comes_after_the_rewrite(planned, site):
    """What lies below the rewritten key decides; the client is sent on from the path that it asked for."""
    site = site(("^/old(.*)$", "/new$1"), bucket=FOLDER, actions=SLASHES, mount="/m/")
    redirect = Redirect("/m/old/dir/", below="folder1/new/dir/")
    assert planned(site, "GET /m/old/dir") == (Serve("folder1/new/dir"), redirect, NO_OBJECT)


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
def test_a_slash_redirect_stays_on_this_host(planned, site, request_line, location):
    """A redirect is an absolute path, percent-encoded, that no browser reads as another host's; the query is kept."""
    as_the_gateway_reads_it = request_line.encode().decode("latin-1")
    redirect = planned(site(actions=SLASHES), as_the_gateway_reads_it)[1]
    assert redirect.location == location


def test_where_nothing_can_lie_below_no_redirect_is_tried(planned, site):
    """A file whose key has 1024 bytes is not a directory: its slash would be the 1025th."""
    key = "k" * 1024
    assert planned(site(actions=SLASHES), f"GET /{key}") == (Serve(key), NO_OBJECT)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_mount_without_its_slash_is_sent_to_it(planned, site, method):
    """`/m` of the mount `/m/` is its root, spelt without a slash: a redirect, whatever the actions say."""
    site = site(("^/$", "/wrong"), mount="/m/")
    assert planned(site, f"{method} /m?x=1") == (Redirect("/m/?x=1"),)


def test_a_get_may_be_sent_to_a_signed_url(planned, site):
    """With `redirectToSignedUrl` the client fetches the file from S3 itself; HEAD is answered here."""
    actions = Actions(get=GetAction(redirect_to_signed_url=True, signed_url_expiration=60))
    assert planned(site(actions=actions), "GET /a") == (Sign("a", 60), NO_OBJECT)
    assert planned(site(actions=actions), "HEAD /a") == (Serve("a"), NO_OBJECT)


@pytest.mark.parametrize(("method", "status"), [("GET", 404), ("HEAD", 404), ("PUT", 403), ("DELETE", 403)], ids=str)
def test_a_file_that_becomes_a_directory_is_refused(planned, uploaded, site, method, status):
    """A file's request whose rewritten key ends in a slash finds nothing, and writes and removes nothing."""
    site = site(("^/f", "/dir/"), actions=Actions(put=PutAction(enabled=True), delete=DeleteAction(enabled=True)))
    found = uploaded(site, "PUT /", "f") if method == "PUT" else planned(site, f"{method} /f")
    assert found == (Refuse(status, DIRECTORY),)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_directory_stays_one_when_its_template_forgets_the_slash(planned, site, method):
    """The listing of `/other` would show `/other-secret/` too, so the closing slash is added."""
    assert planned(site(("^/dir/$", "/other")), f"{method} /dir/") == (Browse("other/"), NO_DIRECTORY)


def test_a_rewrite_never_sees_the_prefix(planned, site):
    """The prefix is joined in front of the rewritten key, and takes no part in matching."""
    site = site(("^/folder1/", "/wrong"), (r"^/file\.html$", "/redirected/file.html"), bucket=FOLDER)
    assert planned(site, "GET /file.html")[0] == Serve("folder1/redirected/file.html")


def test_a_rewrite_never_sees_the_mount(planned, site):
    """The mount path is taken off before the rules are asked."""
    assert planned(site(("^/a$", "/b"), mount="/m/"), "GET /m/a")[0] == Serve("b")


def test_what_was_escaped_twice_stays_escaped_once(planned, site):
    """`%252e%252e` names a key with `%2e%2e` in it, below the prefix: no second decoding makes dots of it."""
    assert planned(site(bucket=FOLDER), "GET /%252e%252e/x")[0] == Serve("folder1/%2e%2e/x")
    assert planned(site(bucket=FOLDER), "GET /a%252Bb")[0] == Serve("folder1/a%2Bb")


def test_a_file_is_removed(planned, site):
    """DELETE of a file removes the object of its rewritten key."""
    assert planned(site(("^/a$", "/b"), bucket=FOLDER), "DELETE /a") == (Remove("folder1/b"),)


@pytest.mark.parametrize("path", ["/", "/dir/", "/m/", "/m"])
def test_a_directory_is_never_removed(planned, site, path):
    """DELETE of a directory is 403 before any rewrite could make a file of it."""
    mount = "/m/" if path.startswith("/m") else "/"
    found = planned(site((".*", "/file"), mount=mount), f"DELETE {path}")
    assert found == (Refuse(403, "a directory cannot be deleted"),)


@pytest.mark.parametrize("path", ["/dir", "/m"])
def test_an_upload_to_a_file_is_refused(planned, uploaded, site, path):
    """PUT goes to a directory; the same answer before and after the form was read."""
    message = "An upload is a form, sent to an address that ends in “/”"
    refused = (Refuse(400, "the path of an upload does not end in `/`", message=message),)
    site = site(mount="/m/" if path == "/m" else "/")
    assert planned(site, f"PUT {path}") == refused
    assert uploaded(site, f"PUT {path}", "a.txt") == refused


def test_a_raw_upload_is_received_under_its_path(planned, site):
    """Where raw uploads are on, PUT to a file's path stores the body there; the bare mount is no file's."""
    found = site(
        (r"^/in/(.+)$", "/archive/$1"), mount="/m/", actions=Actions(put=PutAction(enabled=True, raw_uploads=True))
    )
    (receive,) = planned(found, "PUT /m/in/a.txt")
    assert (receive.key, receive.location) == ("archive/a.txt", "/m/in/a.txt")
    assert planned(found, "PUT /m")[0].status == 400


DIRECT = Actions(put=PutAction(enabled=True, allow_override=True, direct_uploads=True, max_size=10))


def test_a_form_for_s3_is_for_the_rewritten_key(planned, site):
    """Its limits are those of the target, and S3's own."""
    found = site((r"^/in/(.+)$", "/archive/$1"), mount="/m/", bucket=FOLDER, actions=DIRECT)
    assert planned(found, "PUT /m/in/a.txt?upload=direct") == (
        Presign("folder1/archive/a.txt", "/m/in/a.txt", 10, 300),
    )
    for most in (None, 5 * 1024**3 + 1):
        large = dataclasses.replace(DIRECT.put, max_size=most, direct_upload_expiration=60)
        plan = planned(site(actions=Actions(put=large)), "PUT /a?upload=direct")
        assert plan == (Presign("a", "/a", 5 * 1024**3, 60),)


@pytest.mark.parametrize("actions", [DIRECT, Actions(put=PutAction(enabled=True))])
@pytest.mark.parametrize("query", ["", "?x=direct", "?upload=direct"])
def test_a_form_for_s3_is_asked_for_by_name_where_it_is_on(planned, site, actions, query):
    """Any other query leaves an upload as it is; a directory and the bare mount are not files."""
    is_asked, is_on = query == "?upload=direct", actions is DIRECT
    plan = planned(site(actions=actions), f"PUT /a{query}")
    assert isinstance(plan[0], Presign) is (is_on and is_asked)
    refused = 403 if is_asked and not is_on else 400
    assert planned(site(mount="/m/", actions=actions), f"PUT /m{query}")[0].status == refused
    directory = planned(site(actions=actions), f"PUT /d/{query}")[0]
    assert directory.status == refused if is_asked else isinstance(directory, ReadForm)


def test_a_form_for_s3_is_refused_where_only_raw_uploads_are_on(planned, site):
    """Its empty body would be stored as a file."""
    raw = Actions(put=PutAction(enabled=True, raw_uploads=True))
    assert [planned(site(actions=raw), f"PUT {path}?upload=direct")[0].status for path in ("/a", "/d/")] == [403, 403]


@pytest.mark.parametrize(
    "path", ["/.tornado-proxy/a.css", "/.tornado-proxy/", "/d/.tornado-proxy/sub/a", "/%2Etornado-proxy/a"]
)
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_nothing_is_changed_where_the_files_of_pages_are(planned, site, method, path):
    """A file that is stored there could be hidden by one of the service; reading is decided as anywhere."""
    actions = Actions(put=PutAction(enabled=True, raw_uploads=True), delete=DeleteAction(enabled=True))
    (refused,) = planned(site(actions=actions), f"{method} {path}")
    assert (refused.status, refused.reason) == (403, "`.tornado-proxy/` is for the service's own files")
    assert isinstance(planned(site(actions=actions), "GET /.tornado-proxy/a.css")[0], Serve)
    assert isinstance(planned(site(actions=actions), "PUT /x.tornado-proxy/a.css")[0], Receive)


def test_a_form_for_s3_stores_under_no_name_that_its_sender_chooses(planned, site):
    """S3 puts the file's name where `${filename}` stands in a key."""
    (refused,) = planned(site(actions=DIRECT), "PUT /mine/$%7Bfilename%7D?upload=direct")
    assert refused.status == 400


def test_an_upload_is_received_under_its_name(uploaded, site):
    """An upload's key is the directory's with the file's name; its location is the path to ask for it."""
    found = uploaded(site(bucket=FOLDER, mount="/m/"), "PUT /m/dir/", "my file?.txt")
    assert found == (Receive("folder1/dir/my file?.txt", "/m/dir/my%20file%3F.txt"),)


def test_an_upload_is_rewritten_with_its_name(uploaded, site):
    """A source sees the file's name; the location stays what the client can ask for, never the rewritten key."""
    site = site((r"^/in/(?P<name>.+)\.txt$", "/archive/$name"), bucket=FOLDER)
    assert uploaded(site, "PUT /in/", "a.txt") == (Receive("folder1/archive/a", "/in/a.txt"),)


def test_an_upload_keeps_to_the_targets_limits(uploaded, site):
    """Whether it may replace, and how much it may hold, come from the configuration."""
    actions = Actions(put=PutAction(enabled=True, allow_override=True, max_size=5))
    assert uploaded(site(actions=actions), "PUT /", "a") == (Receive("a", "/a", replace=True, max_size=5),)


@pytest.mark.parametrize("request_line", ["GET /", "HEAD /", "DELETE /"])
def test_a_key_that_is_too_long_is_refused(planned, site, request_line):
    """A key of more than 1024 bytes, prefix included, is 400 and never asked for."""
    (refused,) = planned(site(bucket=FOLDER), request_line + "k" * 1017)
    assert (refused.status, refused.reason) == (400, "the object key is longer than 1024 bytes")


def test_a_directory_or_an_upload_that_is_too_long_is_refused(planned, uploaded, site):
    """The limit counts for a listing's prefix and for an upload's key as for a file."""
    assert planned(site(bucket=FOLDER), f"GET /{'k' * 1020}/")[0].status == 400
    assert uploaded(site(bucket=FOLDER), "PUT /d/", "k" * 1020)[0].status == 400


ATTEMPTS = [
    Serve(ObjectKey("a")),
    Browse(ObjectKey("a/")),
    ReadForm(),
    Receive(ObjectKey("a"), "/a"),
    Presign(ObjectKey("a"), "/a", 10, 60),
    BeginUpload(ObjectKey("a"), "/a", 1, replace=False, max_size=None),
    ReceivePart(ObjectKey("a"), "x", 1),
    ListParts(ObjectKey("a"), "x"),
    CompleteUpload(ObjectKey("a"), "/a", "x", 1, replace=False, max_size=None),
    AbortUpload(ObjectKey("a"), "x"),
    Remove(ObjectKey("a")),
    Sign(ObjectKey("a"), 60),
    Redirect("/a/"),
    VisitProvider("id", "login"),
    ListTargets(),
    Refuse(404, "no object at this key"),
]


@pytest.mark.parametrize("attempt", [each for each in ATTEMPTS if dataclasses.fields(each)], ids=repr)
def test_an_attempt_is_a_value(attempt):
    """Attempts are compared by value and cannot be changed."""
    assert attempt == dataclasses.replace(attempt)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(attempt, dataclasses.fields(attempt)[0].name, "b")


def test_every_attempt_is_one_of_these():
    """The union that readers match on has a member for each attempt."""
    assert {type(each) for each in ATTEMPTS} == set(Attempt.__args__)


def test_an_index_document_is_sent_from_the_store_too_where_files_are(decided, site):
    """`redirectToSignedUrl` holds for every object; HEAD is answered here."""
    get = GetAction(index_document="index.html", redirect_to_signed_url=True, signed_url_expiration=60)
    found = site(actions=Actions(get=get))
    assert decided(found, "GET /a/").plan[0] == Sign("a/index.html", 60)
    assert decided(found, "HEAD /a/").plan[0] == Serve("a/index.html", index=True)
