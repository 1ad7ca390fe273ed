"""The data of a request as Go values, with the fields and methods that templates for s3-proxy read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from typing import NoReturn

import msgspec

from gotemplate.regexp.matching import Captures
from gotemplate.template import urls
from gotemplate.template import values as go
from gotemplate.template.calling import INT, STRING, Function, budgeted, function, reading
from gotemplate.template.errors import RenderBudget
from gotemplate.template.standard import escape_html
from gotemplate.template.text import go_string
from gotemplate.template.urls import HEADER, VALUES, Url, collected, copied, first, header
from gotemplate.template.values import INVALID, Struct
from tornado_proxy.semantics.request import METHODS, Request, User
from tornado_proxy.templates.limits import MOST_LENGTH_DIGITS
from tornado_proxy.templates.template import MissingUserError, TargetData, TargetKeyRewriteData


class ValueMap(go.Map):
    """The values of a request by name; it notes the names that are indexed and have none."""

    def __init__(self, values: go.Map, absent: list[bytes]) -> None:
        """Takes over the values."""
        super().__init__(values, values.type)
        self._absent = absent

    def lookup(self, key: go.Value) -> go.Value:
        """Returns the values of a name, or `INVALID` without one."""
        found = super().lookup(key)
        if found is INVALID:
            self._absent.append(key)
        return found


class RequestFacts(msgspec.Struct, dict=True):
    """The request as Go sees it, its URL without a host; header and query are parsed once, when they are first read."""

    data: Request
    url: Url
    host: bytes
    budget: RenderBudget
    absent: list[bytes] = []
    """The names that a template has indexed, though neither headers nor query have them."""

    @cached_property
    def header(self) -> go.Map:
        """The header fields, by canonical name."""
        return ValueMap(header(self.budget, self.data.headers), self.absent)

    @cached_property
    def header_in_html(self) -> go.Value:
        """The header fields, safe in HTML; a page may read them for each entry of a listing."""
        return _in_html(self.header, self.budget)

    @cached_property
    def request_uri(self) -> bytes:
        """The target in the request line."""
        return bytes(self.encoded(lambda url: url.request_uri))

    def encoded(self, read: Callable[[Url], go.Value]) -> go.Value:
        """Reads an encoded part of the URL, and charges for the size of path and query."""
        self.budget.spend(len(self.url.path) + len(self.url.raw_query) >> 3)
        return read(self.url)

    @cached_property
    def query(self) -> go.Map:
        """The values of the query by name."""
        self.budget.spend((len(self.url.raw_query) >> 4) + self.url.raw_query.count(b"&"))
        return ValueMap(collected(VALUES, urls.parse_query(self.url.raw_query)), self.absent)


def _userinfo(value: Struct | go.Nil) -> bytes:
    return b"" if isinstance(value, go.Nil) else bytes(value.source)


USERINFO = go.Type(
    "*url.Userinfo",
    "ptr",
    opaque=True,
    stringer=_userinfo,
    methods={
        b"String": function(_userinfo),
        b"Username": function(lambda receiver: b"" if isinstance(receiver, go.Nil) else receiver.source.name),
    },
)


def _of_url(read: Callable[[Url], go.Value]) -> Function:
    return function(lambda receiver: receiver.source.encoded(read))


URL = go.Type(
    "*url.URL",
    "ptr",
    stringer=lambda value: value.source.encoded(bytes),
    methods={
        b"EscapedFragment": _of_url(lambda url: url.escaped_fragment),
        b"EscapedPath": _of_url(lambda url: url.escaped_path),
        b"Hostname": _of_url(lambda url: urls.split_port(url.host)[0]),
        b"IsAbs": _of_url(lambda url: bool(url.scheme)),
        b"Port": _of_url(lambda url: urls.split_port(url.host)[1]),
        b"Query": budgeted(
            lambda budget, receiver: ValueMap(copied(budget, receiver.source.query), receiver.source.absent)
        ),
        b"RequestURI": _of_url(lambda url: url.request_uri),
        b"String": _of_url(bytes),
    },
    getters={
        **{name.title().replace("_", "").encode(): attrgetter(f"url.{name}") for name in Url.__struct_fields__},
        b"User": lambda request: Struct(USERINFO, request.url.user) if request.url.user else go.Nil(USERINFO),
    },
)


def _version(request: RequestFacts) -> tuple[int, int]:
    """Returns the numbers of a protocol such as `HTTP/1.1`."""
    _, _, numbers = request.data.protocol.partition("/")
    major, minor = numbers.split(".")
    return int(major), int(minor)


_TLS = go.Type("*tls.ConnectionState", "ptr", opaque=True)


REQUEST = go.Type(
    "*http.Request",
    "ptr",
    opaque=True,
    methods={
        b"FormValue": function(lambda receiver, name: first(receiver.source.query, name), STRING),
        b"ProtoAtLeast": function(lambda receiver, major, minor: (major, minor) <= _version(receiver.source), INT, INT),
        b"Referer": reading(lambda request: first(request.header, b"Referer")),
        b"UserAgent": reading(lambda request: first(request.header, b"User-Agent")),
    },
    getters={
        b"Method": lambda request: go_string(request.data.method),
        b"URL": lambda request: Struct(URL, request),
        b"Proto": lambda request: go_string(request.data.protocol),
        b"ProtoMajor": lambda request: _version(request)[0],
        b"ProtoMinor": lambda request: _version(request)[1],
        b"Header": lambda request: request.header,
        b"Host": lambda request: request.host,
        b"RemoteAddr": lambda request: go_string(request.data.remote_address),
        b"RequestURI": lambda request: request.request_uri,
        b"PublicPath": lambda request: go_string(request.data.public_path),
        b"TLS": lambda request: Struct(_TLS, request) if request.data.scheme == "https" else go.Nil(_TLS),
    },
)


def _content_length(request: RequestFacts) -> go.Int64:
    """Returns the length that the client announced: -1 for chunks, 0 without a body."""
    if first(request.header, b"Transfer-Encoding"):
        return go.Int64(-1)
    length = first(request.header, b"Content-Length")
    return go.Int64(length[:MOST_LENGTH_DIGITS] if length.isdigit() else 0)


def _transfer_encoding(request: RequestFacts) -> go.Slice:
    codings = [b"chunked"] if first(request.header, b"Transfer-Encoding") else []
    return go.Slice(codings, go.STRING_SLICE, nil=not codings)


# Each alternative ends at the end of the text at the latest, so that the time is linear.
_ELEMENT = re.compile(
    rb"<(script|style)\b.*?(?:</\1[^>]*(?:>|\Z)|\Z)|<!--.*?(?:-->|\Z)|</?[a-z!?][^>]*(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)


def _in_html(value: go.Value, budget: RenderBudget) -> go.Value:
    """Returns a value without HTML elements, and with the rest of its texts escaped."""
    if isinstance(value, bytes):
        budget.spend(1 + (len(value) >> 4))
        return escape_html(_ELEMENT.sub(b"", value))
    if isinstance(value, go.Slice):
        return go.Slice((_in_html(each, budget) for each in value), value.type, nil=value.nil)
    if isinstance(value, go.Map):
        entries = ((_in_html(key, budget), _in_html(each, budget)) for key, each in value.items())
        return go.Map(entries, value.type, nil=value.nil)
    return value


def _getter_in_html(read: Callable[[RequestFacts], go.Value]) -> Callable[[RequestFacts], go.Value]:
    return lambda request: _in_html(read(request), request.budget)


def _method_in_html(method: Function) -> Function:
    receiver = int(method.budgeted)  # the argument's index
    return msgspec.structs.replace(
        method, call=lambda *arguments: _in_html(method.call(*arguments), arguments[receiver].source.budget)
    )


def _type_in_html(plain: go.Type, **getters: Callable[[RequestFacts], go.Value]) -> go.Type:
    """Returns a type of the request whose values are safe in HTML, as s3-proxy's are; some getters are replaced."""
    written = plain.stringer
    return replace(
        plain,
        stringer=written and (lambda value: _in_html(written(value), value.source.budget)),
        methods={name: _method_in_html(method) for name, method in plain.methods.items()},
        getters={name: _getter_in_html(read) for name, read in plain.getters.items()}
        | {name.encode(): read for name, read in getters.items()},
    )


_PAGE_URL = _type_in_html(URL)

PAGE_REQUEST = _type_in_html(
    REQUEST,
    URL=lambda request: Struct(_PAGE_URL, request),
    Header=attrgetter("header_in_html"),
    ContentLength=_content_length,
    TransferEncoding=_transfer_encoding,
    Trailer=lambda _request: go.Map((), HEADER, nil=True),
    Pattern=lambda _request: b"",
)
"""The request as pages see it; a key depends neither on the body nor on how it is sent."""


def request_facts(request: Request, budget: RenderBudget) -> RequestFacts:
    """Returns the facts of an incoming request; their costs are charged to the budget."""
    url = Url(path=go_string(request.path), raw_query=go_string(request.raw_query))
    return RequestFacts(request, url, go_string(request.host), budget)


class AbsentUser(go.Nil):
    """The user of a request if nobody is signed in: false and empty; reading its members fails."""

    __slots__ = ()

    def __init__(self) -> None:
        """Sets nothing: an absent user has no type."""

    @property
    def type(self) -> NoReturn:  # type: ignore[override]
        """Raises `MissingUserError`, because the template reads from the user."""
        raise MissingUserError("the template reads from the user, but nobody is signed in")


class GroupMap(go.Map):
    """The texts of the source's groups by number and by name; reading an unknown group is an error, not empty."""

    __slots__ = ()
    is_closed = True

    def lookup(self, key: go.Value) -> go.Value:
        """Returns the value of a key; raises `ExecutionError` for an unknown group."""
        text = self.get(key, INVALID)
        if text is INVALID:
            raise go.ExecutionError(f"unknown group `{key.decode('utf-8', 'replace')}`")
        return text


def _strings(texts: tuple[str, ...]) -> go.Slice:
    return go.Slice(map(go_string, texts), go.STRING_SLICE, nil=not texts)


def _text(attribute: str) -> Callable[[object], bytes]:
    """Returns a getter of an attribute as a Go string."""
    get = attrgetter(attribute)
    return lambda source: go_string(get(source))


_USER_ATTRIBUTES: Mapping[bytes, Callable[[User], go.Value]] = {
    b"GetEmail": _text("email"),
    b"GetFamilyName": _text("family_name"),
    b"GetGivenName": _text("given_name"),
    b"GetGroups": lambda user: _strings(user.groups),
    b"GetIdentifier": _text("identifier"),
    b"GetName": _text("name"),
    b"GetType": _text("kind"),
    b"GetUsername": _text("username"),
    b"IsEmailVerified": attrgetter("email_verified"),
}
_USER_METHODS = {name: reading(read) for name, read in _USER_ATTRIBUTES.items()}


_OTHER_METHODS = {b"PreferredUsername": b"GetUsername", b"EmailVerified": b"IsEmailVerified"}


def _user_type(name: str, *fields: bytes) -> go.Type:
    """Returns the type of a kind of user; each field has the value of a method, usually the one named after it."""
    getters = {field: _USER_ATTRIBUTES[_OTHER_METHODS.get(field, b"Get" + field)] for field in fields}
    return go.Type(name, "ptr", methods=_USER_METHODS, getters=getters)


_CLAIMS = (b"PreferredUsername", b"Name", b"GivenName", b"FamilyName", b"Email", b"Groups", b"EmailVerified")
USERS: Mapping[str, go.Type] = {
    "BASIC": _user_type("*models.BasicAuthUser", b"Username"),
    **dict.fromkeys(("HEADER", "CERTIFICATE"), _user_type("*models.HeaderUser", b"Username", b"Email", b"Groups")),
    "OIDC": _user_type("*models.OIDCUser", *_CLAIMS),
}
"""The types of users by kind; their fields depend on the way of signing in, all have the same methods."""


def user_value(user: User) -> Struct:
    """Returns the Go value of a user."""
    return Struct(USERS.get(user.kind, USERS["BASIC"]), user, boxed=True)


BUCKET = go.Type(
    "*config.BucketConfig",
    "ptr",
    getters={
        b"Name": _text("bucket_name"),
        b"Prefix": _text("bucket_prefix"),
        b"Region": _text("bucket_region"),
        b"S3Endpoint": _text("bucket_s3_endpoint"),
        b"S3ListMaxKeys": lambda target: go.Int64(target.bucket_list_max_keys),
        b"DisableSSL": attrgetter("bucket_disable_ssl"),
    },
)

MOUNT = go.Type(
    "*config.MountConfig",
    "ptr",
    getters={b"Host": _text("mount_host"), b"Path": lambda target: _strings(target.mount_paths)},
)

TARGET = go.Type(
    "*config.TargetConfig",
    "ptr",
    getters={
        b"Name": _text("name"),
        b"Bucket": lambda target: Struct(BUCKET, target),
        b"Mount": lambda target: Struct(MOUNT, target),
    },
)


# A method instead of a field, because an action that is not enabled is nil, and can be asked all the same.
_ENABLED = {b"Enabled": function(lambda action: not isinstance(action, go.Nil))}
_ACTION = go.Type("*config.ActionConfig", "ptr", opaque=True, methods=_ENABLED)


def _action(method: str) -> Callable[[TargetData], go.Value]:
    return lambda target: Struct(_ACTION, target) if method in target.actions else go.Nil(_ACTION)


_ACTIONS = go.Type("*config.ActionsConfig", "ptr", getters={name.encode(): _action(name) for name in METHODS})

_RESOURCE = go.Type(
    "*config.Resource",
    "ptr",
    opaque=True,
    getters={
        b"Path": _text("path"),
        b"Methods": lambda resource: _strings(resource.methods),
        b"Provider": _text("provider"),
        b"WhiteList": attrgetter("white_list"),
    },
)

_RESOURCES = go.Type("[]*config.Resource", "slice", _RESOURCE)

LISTED_TARGET = replace(
    TARGET,
    opaque=True,
    getters={
        **TARGET.getters,
        b"Actions": lambda target: Struct(_ACTIONS, target),
        b"Resources": lambda target: go.Slice([Struct(_RESOURCE, each) for each in target.resources], _RESOURCES),
    },
)
"""A target as the page of all targets sees it."""


class RootFacts(msgspec.Struct, dict=True):
    """The data of the outermost dot; request and groups are created when they are first read."""

    data: TargetKeyRewriteData
    captures: Captures
    budget: RenderBudget
    nobody: go.Value

    @cached_property
    def request(self) -> RequestFacts:
        """The request, always the same object."""
        return request_facts(self.data.request, self.budget)

    @cached_property
    def groups(self) -> go.Map:
        """The source's groups by number and by name."""
        texts = [go_string(text or "") for text in self.captures.groups]
        groups = GroupMap({b"%d" % number: text for number, text in enumerate(texts)})
        groups.update((go_string(name), texts[number]) for name, number in self.captures.names.items())
        return groups


ROOT = go.Type(
    "*bucket.targetKeyRewriteData",
    "ptr",
    opaque=True,
    getters={
        b"Request": lambda facts: Struct(REQUEST, facts.request),
        b"User": lambda facts: user_value(facts.data.user) if facts.data.user else facts.nobody,
        b"Target": lambda facts: Struct(TARGET, facts.data.target),
        b"Key": lambda facts: go_string(facts.data.key),
        b"Groups": attrgetter("groups"),
    },
)

DATA = frozenset(name.decode() for name in ROOT.getters)  # the names of what a rule's template can read
_NOBODY = AbsentUser()


def root(captures: Captures, data: TargetKeyRewriteData, budget: RenderBudget) -> Struct:
    """Returns the outermost dot of a rule's template; the cost of its parts is charged to the budget."""
    return Struct(ROOT, RootFacts(data, captures, budget, _NOBODY))


ANY_USER = go.Type(
    "models.GenericUser",
    "ptr",
    methods=_USER_METHODS,
    getters={name: getter for of in USERS.values() for name, getter in of.getters.items()},
)
"""The type of the user in a sample."""


def sample(groups: Iterable[str], budget: RenderBudget) -> Struct:
    """Returns an outermost dot with these groups, an empty request, and a user that has the fields of all kinds."""
    facts = RootFacts(TargetKeyRewriteData(""), Captures(()), budget, Struct(ANY_USER, User("")))
    facts.groups = GroupMap({go_string(name): b"" for name in groups})
    return Struct(ROOT, facts)
