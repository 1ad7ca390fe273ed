"""URLs as dictionaries (sprig's url.go)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tornado_proxy.templates.golang import urls
from tornado_proxy.templates.golang.calling import MAP, STRING, Function, function
from tornado_proxy.templates.golang.failures import ExecutionError
from tornado_proxy.templates.golang.values import Map, type_name


def _url_parse(text: bytes) -> Map:
    try:
        url = urls.parse(text)
    except urls.UrlError as error:
        raise ExecutionError(f"this is no URL: {error}") from None
    return Map(
        {
            b"scheme": url.scheme,
            b"host": url.host,
            b"hostname": urls.split_port(url.host)[0],
            b"path": url.path,
            b"query": url.raw_query,
            b"opaque": url.opaque,
            b"fragment": url.fragment,
            b"userinfo": b"" if url.user is None else bytes(url.user),
        }
    )


def _url_join(parts: Map) -> bytes:
    info = _part(parts, b"userinfo")
    url = urls.Url(
        scheme=_part(parts, b"scheme"),
        opaque=_part(parts, b"opaque"),
        user=_user(info) if info else None,
        host=_part(parts, b"host"),
        path=_part(parts, b"path"),
        raw_query=_part(parts, b"query"),
        fragment=_part(parts, b"fragment"),
    )
    return bytes(url)


def _part(parts: Map, key: bytes) -> bytes:
    part = parts.get(key, b"")
    if type(part) is not bytes:
        raise ExecutionError(f"`{key.decode()}` of a URL is a string, not a `{type_name(part)}`")
    return part


def _user(info: bytes) -> urls.Userinfo | None:
    try:
        return urls.parse(b"proto://" + info + b"@host").user
    except urls.UrlError as error:
        raise ExecutionError(f"`userinfo` of a URL cannot be read: {error}") from None


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {"urlJoin": function(_url_join, MAP), "urlParse": function(_url_parse, STRING)}
)
