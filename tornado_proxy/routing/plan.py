"""A plan is a list of attempts. An attempt that finds nothing passes on to the next one; the last always answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from tornado_proxy.config.actions import GetAction, PutAction
from tornado_proxy.config.model import Bucket
from tornado_proxy.config.providers import Step
from tornado_proxy.routing.limits import LARGEST_FORM
from tornado_proxy.routing.mounts import RouteMatch
from tornado_proxy.routing.request import ASSETS_AT, BadAddress, KeyTooLong, ObjectKey, object_key, parse_request_path
from tornado_proxy.routing.upload_steps import UploadStep, upload_step
from tornado_proxy.rules.model import TRIED_PATH, Key, Moved
from tornado_proxy.rules.tree import REDIRECTS, NoLocation, read_location
from tornado_proxy.semantics.fields import CONTROL, path_reference
from tornado_proxy.semantics.request import READING, Request, RequestPath


class Serve(msgspec.Struct, frozen=True):
    """Answer with the object; pass on if there is none."""

    key: ObjectKey
    paths: tuple[RequestPath, ...] = ()  # beside the request's: pass on, too, unless each would be answered


class Browse(msgspec.Struct, frozen=True):
    """Answer with a listing of a directory; pass on if it does not exist, unless it is the mount's root."""

    prefix: ObjectKey
    root: bool = False


class ReadForm(msgspec.Struct, frozen=True):
    """Read the form of an upload; the rest of the plan needs its file's name."""

    max_size: int | None = None


class Receive(msgspec.Struct, frozen=True):
    """Store the upload under a key; `location` is its request path, percent-encoded."""

    key: ObjectKey
    location: str
    replace: bool = False
    max_size: int | None = None


class OfferForm(msgspec.Struct, frozen=True):
    """Answer with a form, valid for `expires` seconds, that stores a file of `max_size` bytes at most under the key."""

    key: ObjectKey
    location: str
    max_size: int
    expires: int


class Remove(msgspec.Struct, frozen=True):
    """Remove the object."""

    key: ObjectKey


class RedirectToSignedUrl(msgspec.Struct, frozen=True):
    """Redirect to a signed URL of the object, valid for `expires` seconds; pass on as `Serve` does."""

    key: ObjectKey
    expires: int
    paths: tuple[RequestPath, ...] = ()


class Redirect(msgspec.Struct, frozen=True):
    """Redirect to `location`, a path or a URL, with its query."""

    location: str
    below: ObjectKey | None = None  # pass on if there is no key below it
    paths: tuple[RequestPath, ...] = ()  # pass on unless each would be answered
    status: int = 302
    cache_control: str = "no-cache"


class VisitProvider(msgspec.Struct, frozen=True):
    """Answer a page of a provider, which is a step of a sign-in."""

    provider: str
    step: Step


class ListTargets(msgspec.Struct, frozen=True):
    """Answer with the page of all targets."""


class Refuse(msgspec.Struct, frozen=True):
    """Answer with an error."""

    status: int
    reason: str  # for the log and `explain`, never for the client
    allow: tuple[str, ...] = ()  # methods, for the Allow of a 405
    challenge: str | None = None  # the WWW-Authenticate of a 401
    location: str | None = None  # the page where a browser can sign in
    message: str | None = None  # what the client reads where the status says too little


Attempt = (
    Serve
    | Browse
    | ReadForm
    | Receive
    | OfferForm
    | UploadStep
    | Remove
    | RedirectToSignedUrl
    | Redirect
    | VisitProvider
    | ListTargets
    | Refuse
)

Plan = tuple[Attempt, ...]  # attempts in order; the last is one that always answers


_NO_OBJECT = Refuse(404, "no object at this key")
_NO_DIRECTORY = Refuse(404, "no objects below this key")
_LISTING_DISABLED = Refuse(403, "listing is disabled")
_NAMED_BY_S3 = Refuse(400, "S3 would replace `${filename}` in the key by the name of the file")
_NO_SLASH = Refuse(
    400, "the path of an upload does not end in `/`", message="An upload is a form, sent to an address that ends in “/”"
)
_WHOLE_DIRECTORY = Refuse(403, "a directory cannot be deleted", message="A directory cannot be deleted, only its files")
_OURS = Refuse(
    403, f"`{ASSETS_AT}` is for the service's own files", message="This directory is for files of the service"
)
_NOT_DIRECT = Refuse(403, "`directUploads` is not enabled", message="Uploads straight to S3 are not enabled here")
_NOT_A_FILE = Refuse(
    400, "`?upload=` needs the path of a file", message="An upload of this kind needs the path of a file"
)
_STEP_OF_REMOVAL = Refuse(
    400, "a step of an upload in parts is a PUT", message="A step of an upload in parts is a PUT, not a DELETE"
)
_GONE = Refuse(410, "the rules call the address gone")
_MOVED_UNDER_WAY = Refuse(
    409, "the rules redirect the address of a form", message="This address has moved; upload the file to its new one"
)
_MOVED_TO_READ = Refuse(
    409, "a redirect with 303 is for reading", message="This address has moved to one that can only be read"
)
_BECAME_A_DIRECTORY = "the rewritten key is a directory's: it ends in `/`"

# All that a request line can hold but for `"`, `#`, `<` and `>`, which may not stand in a query (RFC 3986 3.4).
_QUERY_AS_IT_IS = "!$%&'()*+,/:;=?@[\\]^`{|}~"


def plan_early(match: RouteMatch, request: Request) -> Plan:
    """Plans requests that rules cannot change: slash redirects, refused directories, uploads without a name."""
    is_directory = request.path.endswith("/")
    # The mount path without its closing slash is a directory too, but not spelt as one.
    is_file = not is_directory and match.key != "/"
    if request.method in READING:
        return () if is_file or is_directory else (Redirect(_slashed(request)),)
    if f"/{ASSETS_AT}" in request.path:
        return (_OURS,)
    return _CHANGES[request.method].early(match, request, is_file)


def plan_object(match: RouteMatch, request: Request, path: RequestPath, key: Key) -> Plan:
    """Plans a request with a rewritten key; `path` includes the file name of an upload. Raises `RequestError`."""
    if request.method in READING:
        return _plan_read(match, request, key)
    if key.endswith("/"):
        return (Refuse(403, _BECAME_A_DIRECTORY),)
    return _CHANGES[request.method].plan(match, request, path, object_key(match.site.target.bucket, key))


def _plan_read(match: RouteMatch, request: Request, key: Key) -> Plan:
    target = match.site.target
    if request.path.endswith("/"):
        return _browse(match, request, key)
    if key.endswith("/"):
        return (Refuse(404, _BECAME_A_DIRECTORY),)
    get = target.actions.get
    opening = _fetch(get, request, object_key(target.bucket, key))
    redirects = get.redirect_with_trailing_slash_for_not_found_file
    below = _key_if_any(target.bucket, f"{key}/") if redirects else None
    if below is None:
        return (opening, _NO_OBJECT)
    return (opening, Redirect(_slashed(request), below, (RequestPath(f"{request.path}/"),)), _NO_OBJECT)


def _early_upload(match: RouteMatch, request: Request, is_file: bool) -> Plan:  # noqa: FBT001 - as `_Change` has it
    put, named = match.site.target.actions.put, request.parameters.get("upload")
    if named == "direct" and not put.direct_uploads:
        return (_NOT_DIRECT,)
    if named is not None:
        return () if is_file else (_NOT_A_FILE,)
    if request.path.endswith("/"):
        return (ReadForm(put.max_size),)
    return () if put.raw_uploads and is_file else (_NO_SLASH,)


def _plan_upload(match: RouteMatch, request: Request, path: RequestPath, key: ObjectKey) -> Plan:
    put: PutAction = match.site.target.actions.put
    location = path_reference(request.public(path))
    if (named := request.parameters.get("upload")) is None:
        return (Receive(key, location, put.allow_override, put.max_size),)
    if named != "direct":
        return (upload_step(request, key, location, put),)
    if "${filename}" in key:
        return (_NAMED_BY_S3,)
    most = min(put.max_size or LARGEST_FORM, LARGEST_FORM)
    return (OfferForm(key, location, most, put.direct_upload_expiration),)


def _early_removal(_match: RouteMatch, request: Request, is_file: bool) -> Plan:  # noqa: FBT001 - as `_Change` has it
    if "upload" in request.parameters:
        # S3 aborts an upload by a DELETE; here that would delete the file that the upload is for.
        return (_STEP_OF_REMOVAL,)
    return () if is_file else (_WHOLE_DIRECTORY,)


def _plan_removal(_match: RouteMatch, _request: Request, _path: RequestPath, key: ObjectKey) -> Plan:
    return (Remove(key),)


class _Change(NamedTuple):
    """How the requests of a method that changes a bucket are planned: before the rules, and with the rewritten key."""

    early: Callable[[RouteMatch, Request, bool], Plan]
    plan: Callable[[RouteMatch, Request, RequestPath, ObjectKey], Plan]


_CHANGES = {"PUT": _Change(_early_upload, _plan_upload), "DELETE": _Change(_early_removal, _plan_removal)}


def _browse(match: RouteMatch, request: Request, key: Key) -> Plan:
    target = match.site.target
    get, prefix = target.actions.get, object_key(target.bucket, key)
    index = _key_if_any(target.bucket, key + get.index_document) if get.index_document else None
    paths = (RequestPath(f"{request.path}{get.index_document}"),)
    opening = (_fetch(get, request, index, paths),) if index else ()
    if get.disable_listing:
        return (*opening, _LISTING_DISABLED)
    if match.key == "/":
        return (*opening, Browse(prefix, root=True))
    return (*opening, Browse(prefix), _NO_DIRECTORY)


def _fetch(
    get: GetAction, request: Request, key: ObjectKey, paths: tuple[RequestPath, ...] = ()
) -> Serve | RedirectToSignedUrl:
    if get.redirect_to_signed_url and request.method == "GET":
        return RedirectToSignedUrl(key, get.signed_url_expiration, paths)
    return Serve(key, paths)


def _key_if_any(bucket: Bucket, key: str) -> ObjectKey | None:
    try:
        return object_key(bucket, Key(key))
    except KeyTooLong:
        return None


def plan_tries(own: Plan, tries: Sequence[tuple[str, Attempt]]) -> Plan:
    """Returns the plan of a reading request with the attempts of `tryFiles`, each after its template.

    What else the request's own plan has (an index document, a listing, a redirect) comes after the last `$path`.
    """
    of_path = max((number for number, (template, _) in enumerate(tries, 1) if TRIED_PATH in template), default=0)
    files = [attempt for _, attempt in tries]
    is_file = (
        isinstance(own[0], Serve | RedirectToSignedUrl) and not own[0].paths
    )  # which is one of `tries`, or unwanted
    closing = own[-1]
    later = files[of_path:] if isinstance(closing, Refuse) else []  # the listing of a root always answers
    return tuple(dict.fromkeys((*files[:of_path], *own[is_file:-1], *later, closing)))


def tries_files(plan: Sequence[Attempt]) -> bool:
    """Whether a plan goes on after a file that is not there."""
    files = sum(isinstance(each, Serve | RedirectToSignedUrl) for each in plan)
    return files > 1 or (files == 1 and isinstance(plan[-1], Redirect))


def plan_moved(match: RouteMatch, request: Request, moved: Moved, home: str) -> Plan:
    """Plans a request whose address has moved or is gone; `home` is what the keys of an isolated user begin with.

    A write is redirected so that it keeps its method and its body, or else refused.
    """
    location = moved.location
    if location is None:
        return (_GONE,)
    status = moved.status if request.method in READING else REDIRECTS[moved.status]
    if status is None:
        return (_MOVED_TO_READ,)
    if request.method == "PUT" and request.path.endswith("/"):
        return (_MOVED_UNDER_WAY,)
    place = location.path
    if not location.is_url:
        place = place.removeprefix(path_reference(home).removesuffix("/"))
        place = path_reference(request.public(match.mount.removesuffix("/"))) + place
        place = f"/%2F{place[2:]}" if place.startswith("//") else place
    query = location.query or (f"?{_query(request)}" if moved.keeps_query and request.raw_query else "")
    cache_control = match.site.target.actions.get.redirect_cache_control
    to = f"{place}{query}{location.fragment}"
    return (Redirect(to, status=status, cache_control=cache_control),)


def plan_missing(plan: Plan, moved: Plan) -> Plan:
    """Returns a plan that ends with another one, instead of an error, if nothing is found."""
    return (*plan[:-1], *moved) if isinstance(plan[-1], Refuse) else plan


def website_location(value: str, match: RouteMatch, request: Request, home: Key) -> str:
    """Returns where an object's `x-amz-website-redirect-location` leads: a URL, or a path with its query and fragment.

    Such a path is a key from the bucket's root, percent-encoded, of which the target has what is below its prefix and
    `home`, the directory of an isolated user. Raises `BadAddress` for any other text.
    """
    try:
        location = read_location(value)
    except NoLocation as error:
        raise BadAddress("it is neither a path nor a URL of `http` or `https`") from error
    if CONTROL.search(value):
        raise BadAddress("it has a control character")
    if location.is_url:
        return str(location)
    path, root = parse_request_path(location.path), f"/{object_key(match.site.target.bucket, home).removeprefix('/')}"
    if not f"{path}/".startswith(root):
        raise BadAddress(f"`{path}` is not below `{root}`")
    place = path_reference(request.public(f"{match.mount}{path[len(root) :]}"))
    return f"{place}{location.query}{location.fragment}"


def _slashed(request: Request) -> str:
    path = path_reference(request.public(f"{request.path}/"))
    return f"{path}?{_query(request)}" if request.raw_query else path


def _query(request: Request) -> str:
    return quote(request.raw_query.encode("latin-1"), safe=_QUERY_AS_IT_IS)
