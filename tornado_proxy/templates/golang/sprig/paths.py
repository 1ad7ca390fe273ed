"""Paths with slashes, and URLs as dictionaries (package path; sprig's url.go)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tornado_proxy.templates.golang import urls
from tornado_proxy.templates.golang.calling import MAP, STRING, Function, function
from tornado_proxy.templates.golang.limits import ExecutionError
from tornado_proxy.templates.golang.values import Map, type_name


def clean(path: bytes) -> bytes:
    """path.Clean: no empty and no `.` element, no `..` but at the start; never empty."""
    rooted = path.startswith(b"/")
    kept: list[bytes] = []
    for element in path.split(b"/"):
        if element in (b"", b"."):
            continue
        if element != b"..":
            kept.append(element)
        elif kept and kept[-1] != b"..":
            kept.pop()
        elif not rooted:
            kept.append(element)
    cleaned = b"/".join(kept)
    return b"/" + cleaned if rooted else cleaned or b"."


def _base(path: bytes) -> bytes:
    if not path:
        return b"."
    return path.rstrip(b"/").rpartition(b"/")[2] or b"/"


def _dir(path: bytes) -> bytes:
    directory, slash, _ = path.rpartition(b"/")
    return clean(directory + slash)


def _ext(path: bytes) -> bytes:
    stem, dot, extension = path.rpartition(b"/")[2].rpartition(b".")
    return dot + extension if dot or stem else b""


_PATHS = {
    "base": function(_base, STRING),
    "clean": function(clean, STRING),
    "dir": function(_dir, STRING),
    "ext": function(_ext, STRING),
    "isAbs": function(lambda path: path.startswith(b"/"), STRING),
}


def _url_parse(text: bytes) -> Map:
    try:
        url = urls.parse(text)
    except urls.UrlError as error:
        raise ExecutionError(f"invalid URL: {error}") from None
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
    {
        **_PATHS,
        **{f"os{name[0].upper()}{name[1:]}": entry for name, entry in _PATHS.items()},
        "urlJoin": function(_url_join, MAP),
        "urlParse": function(_url_parse, STRING),
    }
)
