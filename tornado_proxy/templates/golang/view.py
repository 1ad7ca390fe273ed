"""The data of a request as Go programs see it: the fields and methods that templates written for s3-proxy read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, NoReturn

from tornado_proxy.goregex.matching import Captures
from tornado_proxy.templates.golang import urls
from tornado_proxy.templates.golang.calling import INT, STRING, Function, budgeted, function, reading
from tornado_proxy.templates.golang.text import go_string
from tornado_proxy.templates.golang.urls import CHANGES, VALUES, Url, collected, header
from tornado_proxy.templates.golang.values import (
    INVALID,
    STRING_SLICE,
    ExecutionError,
    Int64,
    Map,
    Nil,
    Slice,
    Struct,
    StructType,
    Type,
    Value,
    string_slice,
)
from tornado_proxy.templates.template import (
    MissingUserError,
    RenderBudget,
    RequestData,
    TargetData,
    TargetKeyRewriteData,
    User,
)


@dataclass(slots=True)
class RequestFacts:
    """The request in Go's terms; a server's URL has path and query only.

    Header and query are parsed when they are first read, once a request, and that is charged to the budget.
    """

    method: bytes
    host: bytes
    url: Url
    fields: Sequence[tuple[str, str]]
    remote_address: bytes
    budget: RenderBudget
    tls: bool = False
    _request_uri: bytes | None = None
    _header: Map | None = None
    _query: Map | None = None

    @property
    def header(self) -> Map:
        """The header fields, by canonical name."""
        if self._header is None:
            self.budget.spend(len(self.fields))
            self._header = header(self.fields)
        return self._header

    @property
    def request_uri(self) -> bytes:
        """What the request line asks for."""
        if self._request_uri is None:
            self._request_uri = self.encoded(lambda url: url.request_uri)
        return self._request_uri

    def encoded(self, read: Callable[[Url], Value]) -> Value:
        """Something of the URL that is encoded anew, which is charged by its size."""
        self.budget.spend(len(self.url.path) + len(self.url.raw_query) >> 3)
        return read(self.url)

    @property
    def query(self) -> Map:
        """The query's values by name."""
        if self._query is None:
            self.budget.spend((len(self.url.raw_query) >> 4) + self.url.raw_query.count(b"&"))
            self._query = collected(VALUES, urls.parse_query(self.url.raw_query))
        return self._query


def _userinfo(value: Struct | Nil) -> bytes:
    return b"" if isinstance(value, Nil) else bytes(value.source)


USERINFO = StructType(
    "*url.Userinfo",
    "ptr",
    opaque=True,
    stringer=_userinfo,
    methods={
        b"String": function(_userinfo),
        b"Username": function(lambda receiver: b"" if isinstance(receiver, Nil) else receiver.source.name),
    },
    refused={b"Password": "a password must not be part of a key"},
)


def _of_url(read: Callable[[Url], Value]) -> Function:
    return function(lambda receiver: receiver.source.encoded(read))


def _query(budget: RenderBudget, receiver: Struct) -> Map:
    """A copy of the query's values, for each call makes its own in Go, and a template may sort them in place."""
    values = receiver.source.query
    budget.spend(sum(map(len, values.values())) + len(values) >> 1)
    return Map({name: string_slice(each) for name, each in values.items()}, VALUES)


URL = StructType(
    "*url.URL",
    "ptr",
    stringer=lambda value: value.source.encoded(bytes),
    methods={
        b"EscapedFragment": _of_url(lambda url: url.escaped_fragment),
        b"EscapedPath": _of_url(lambda url: url.escaped_path),
        b"Hostname": _of_url(lambda url: urls.split_port(url.host)[0]),
        b"IsAbs": _of_url(lambda url: bool(url.scheme)),
        b"Port": _of_url(lambda url: urls.split_port(url.host)[1]),
        b"Query": budgeted(_query),
        b"RequestURI": _of_url(lambda url: url.request_uri),
        b"String": _of_url(bytes),
    },
    getters={
        b"Scheme": lambda request: request.url.scheme,
        b"Opaque": lambda request: request.url.opaque,
        b"User": lambda request: Nil(USERINFO) if request.url.user is None else Struct(USERINFO, request.url.user),
        b"Host": lambda request: request.url.host,
        b"Path": lambda request: request.url.path,
        b"Fragment": lambda request: request.url.fragment,
        b"RawQuery": lambda request: request.url.raw_query,
        b"RawPath": lambda request: request.url.raw_path,
        b"RawFragment": lambda request: request.url.raw_fragment,
        b"ForceQuery": lambda request: request.url.force_query,
        b"OmitHost": lambda request: request.url.omit_host,
    },
    refused={
        **dict.fromkeys((b"UnmarshalBinary",), CHANGES),
        **dict.fromkeys(
            (b"AppendBinary", b"Clone", b"JoinPath", b"MarshalBinary", b"Parse", b"Redacted", b"ResolveReference"),
            "a URL is made by `urlJoin` and read by `urlParse`",
        ),
    },
)

_TLS = StructType("*tls.ConnectionState", "ptr", opaque=True)


def _first(request: RequestFacts, name: bytes) -> bytes:
    return next(iter(request.header.get(name, ())), b"")


def _form_value(receiver: Struct, name: bytes) -> bytes:
    """What the query gives; the body is not read when keys are rewritten."""
    return next(iter(receiver.source.query.get(name, ())), b"")


_CHANGING = (b"AddCookie", b"SetBasicAuth", b"SetPathValue", b"Write", b"WriteProxy")
_OF_BODY = (
    *(b"Body", b"ContentLength", b"Form", b"FormFile", b"GetBody", b"MultipartForm", b"MultipartReader", b"ParseForm"),
    *(b"ParseMultipartForm", b"PostForm", b"PostFormValue", b"Trailer", b"TransferEncoding"),
)
_OF_CONNECTION = (b"Cancel", b"Clone", b"Close", b"Context", b"Response", b"WithContext")

REQUEST = StructType(
    "*http.Request",
    "ptr",
    opaque=True,
    methods={
        b"FormValue": function(_form_value, STRING),
        b"ProtoAtLeast": function(lambda _receiver, major, minor: (major, minor) <= (1, 1), INT, INT),
        b"Referer": reading(lambda request: _first(request, b"Referer")),
        b"UserAgent": reading(lambda request: _first(request, b"User-Agent")),
    },
    getters={
        b"Method": lambda request: request.method,
        b"URL": lambda request: Struct(URL, request),
        b"Proto": lambda _request: b"HTTP/1.1",
        b"ProtoMajor": lambda _request: 1,
        b"ProtoMinor": lambda _request: 1,
        b"Header": lambda request: request.header,
        b"Host": lambda request: request.host,
        b"RemoteAddr": lambda request: request.remote_address,
        b"RequestURI": lambda request: request.request_uri,
        b"TLS": lambda request: Struct(_TLS, request) if request.tls else Nil(_TLS),
    },
    refused={
        **dict.fromkeys(_CHANGING, CHANGES),
        **dict.fromkeys(_OF_BODY, "a key is rewritten before the body is read"),
        **dict.fromkeys(_OF_CONNECTION, "a key does not depend on the connection"),
        **dict.fromkeys((b"Pattern", b"PathValue"), "no pattern of Go's routed the request; read `.Key` or `.Groups`"),
        **dict.fromkeys((b"Cookie", b"Cookies", b"CookiesNamed"), 'cookies are read by `.Header.Get "Cookie"`'),
        b"BasicAuth": "who is signed in is `.User`",
    },
)


def request_facts(request: RequestData, budget: RenderBudget) -> RequestFacts:
    """The facts of a request that came in, charged to a budget."""
    return RequestFacts(
        go_string(request.method),
        go_string(request.host),
        Url(path=go_string(request.path), raw_query=go_string(request.raw_query)),
        request.headers,
        go_string(request.remote_address),
        budget,
        request.scheme == "https",
    )


@dataclass(frozen=True, slots=True)
class RootFacts:
    """What the outermost dot stands for."""

    key: bytes
    user: User | None
    target: TargetData
    request: Callable[[], RequestFacts]
    groups: Callable[[], Map]
    nobody: Nil


class Once:
    """Makes a value when it is first asked for; much cheaper to set up at each rendering than functools.cache."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: Any = None

    def __call__(self) -> Any:
        """The value, made now or before."""
        if self._made is None:
            self._made = self._make()
        return self._made


class AbsentUser(Nil):
    """The user where nobody is signed in: false and empty, but reading its members fails."""

    __slots__ = ()

    def __init__(self) -> None:
        """There is nothing to know."""

    @property
    def type(self) -> NoReturn:  # type: ignore[override]
        """Raises: a template has read from the user."""
        raise MissingUserError("the template reads from the user, but nobody is signed in")


class GroupMap(Map):
    """What the source's groups took, by name and by number; one that does not exist is an error, not empty."""

    __slots__ = ()

    def lookup(self, key: Value) -> Value:
        """The value of a key."""
        found = self.get(key, INVALID)
        if found is INVALID:
            raise ExecutionError(f"unknown group `{key.decode('utf-8', 'replace')}`")
        return found


def _strings(texts: tuple[str, ...]) -> Slice:
    return Slice(map(go_string, texts), STRING_SLICE, nil=not texts)


def _reading(attribute: Callable[[User], str]) -> Callable[[User], bytes]:
    return lambda user: go_string(attribute(user))


_USER_ATTRIBUTES: Mapping[bytes, Callable[[User], Value]] = {
    b"GetEmail": _reading(lambda user: user.email),
    b"GetFamilyName": _reading(lambda user: user.family_name),
    b"GetGivenName": _reading(lambda user: user.given_name),
    b"GetGroups": lambda user: _strings(user.groups),
    b"GetIdentifier": _reading(lambda user: user.username or user.email),
    b"GetName": _reading(lambda user: user.name),
    b"GetType": _reading(lambda user: user.kind),
    b"GetUsername": _reading(lambda user: user.username),
    b"IsEmailVerified": lambda user: user.email_verified,
}


_USER_METHODS = {name: reading(read) for name, read in _USER_ATTRIBUTES.items()}


def _user_type(name: str, fields: Mapping[bytes, bytes]) -> StructType:
    """A kind of user: each field gives what a method gives."""
    getters = {field: _USER_ATTRIBUTES[method] for field, method in fields.items()}
    return StructType(name, "ptr", methods=_USER_METHODS, getters=getters)


_NAMED_BY_OTHERS = {b"Username": b"GetUsername", b"Email": b"GetEmail", b"Groups": b"GetGroups"}
USERS: Mapping[str, StructType] = MappingProxyType(
    {
        "BASIC": _user_type("*models.BasicAuthUser", {b"Username": b"GetUsername"}),
        "HEADER": _user_type("*models.HeaderUser", _NAMED_BY_OTHERS),
        "CERTIFICATE": _user_type("*models.HeaderUser", _NAMED_BY_OTHERS),
        "OIDC": _user_type(
            "*models.OIDCUser",
            {
                b"PreferredUsername": b"GetUsername",
                b"Name": b"GetName",
                b"GivenName": b"GetGivenName",
                b"FamilyName": b"GetFamilyName",
                b"Email": b"GetEmail",
                b"Groups": b"GetGroups",
                b"EmailVerified": b"IsEmailVerified",
            },
        ),
    }
)
"""The kinds of users; which fields one has depends on how it signed in, all have the same methods."""


def user_value(user: User) -> Struct:
    """The user, as what it is to Go."""
    return Struct(USERS.get(user.kind, USERS["BASIC"]), user, boxed=True)


GENERIC_USER = Type("models.GenericUser", "interface")


BUCKET = StructType(
    "*config.BucketConfig",
    "ptr",
    getters={
        b"Name": lambda target: go_string(target.bucket_name),
        b"Prefix": lambda target: go_string(target.bucket_prefix),
        b"Region": lambda target: go_string(target.bucket_region),
        b"S3Endpoint": lambda target: go_string(target.bucket_s3_endpoint),
        b"S3ListMaxKeys": lambda target: Int64(target.bucket_list_max_keys),
        b"DisableSSL": lambda target: target.bucket_disable_ssl,
    },
)

MOUNT = StructType(
    "*config.MountConfig",
    "ptr",
    getters={
        b"Host": lambda target: go_string(target.mount_host),
        b"Path": lambda target: _strings(target.mount_paths),
    },
)

TARGET = StructType(
    "*config.TargetConfig",
    "ptr",
    getters={
        b"Name": lambda target: go_string(target.name),
        b"Bucket": lambda target: Struct(BUCKET, target),
        b"Mount": lambda target: Struct(MOUNT, target),
    },
)

ROOT = StructType(
    "*bucket.targetKeyRewriteData",
    "ptr",
    opaque=True,
    getters={
        b"Request": lambda facts: Struct(REQUEST, facts.request()),
        b"User": lambda facts: facts.nobody if facts.user is None else user_value(facts.user),
        b"Target": lambda facts: Struct(TARGET, facts.target),
        b"Key": lambda facts: facts.key,
        b"Groups": lambda facts: facts.groups(),
    },
)

_NOBODY = AbsentUser()


def facts_of(captures: Captures, data: TargetKeyRewriteData, budget: RenderBudget) -> RootFacts:
    """The facts that a rule's template reads; expensive ones are made at first use, and charged to the budget."""
    request, groups = Once(partial(request_facts, data.request, budget)), Once(partial(_groups, captures))
    return RootFacts(go_string(data.key), data.user, data.target, request, groups, _NOBODY)


def _groups(captures: Captures) -> GroupMap:
    groups = GroupMap({b"%d" % number: go_string(text or "") for number, text in enumerate(captures.groups)})
    for name, number in captures.names.items():
        groups[go_string(name)] = groups[b"%d" % number]
    return groups


def root(facts: RootFacts) -> Struct:
    """The outermost dot."""
    return Struct(ROOT, facts)
