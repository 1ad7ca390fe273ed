"""The request as Go programs see it: http.Request, its URL and its header, as far as a template may read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tornado_proxy.templates.data import RequestData
from tornado_proxy.templates.golang import urls
from tornado_proxy.templates.golang.calling import INT, STRING, Function, budgeted, function
from tornado_proxy.templates.golang.limits import RenderBudget
from tornado_proxy.templates.golang.text import go_string
from tornado_proxy.templates.golang.urls import CHANGES, VALUES, Url, collected, header
from tornado_proxy.templates.golang.values import (
    Map,
    Nil,
    Struct,
    StructType,
    Value,
    string_slice,
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


def _of_request(read: Callable[[RequestFacts], Value]) -> Function:
    return function(lambda receiver: read(receiver.source))


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
        b"Referer": _of_request(lambda request: _first(request, b"Referer")),
        b"UserAgent": _of_request(lambda request: _first(request, b"User-Agent")),
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
