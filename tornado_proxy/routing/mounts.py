"""Sites, which are targets ready for requests, found by host and path; the properties that their uploads get."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from email.header import Header
from typing import TYPE_CHECKING, Literal, NamedTuple

from tornado_proxy.config.actions import PutAction
from tornado_proxy.config.model import Target, TargetList
from tornado_proxy.config.providers import OidcProvider
from tornado_proxy.goregex.matching import FirstMatch, Pattern, compile_pattern
from tornado_proxy.routing.access import Access
from tornado_proxy.routing.errors import LengthRequired, MetadataTooLarge, PropertyFailed
from tornado_proxy.routing.request import ObjectKey, RequestPath, host_name
from tornado_proxy.rules.model import Key, RuleSet
from tornado_proxy.templates.template import HeaderFields, RenderError, RenderLimits, TargetData, User

if TYPE_CHECKING:
    from tornado_proxy.templates.golang.pages import PageTemplate

MOST_METADATA = 2048
"""The bytes of all names and values of an object's metadata (S3 API, "User-defined object metadata")."""

_LIMITS = RenderLimits()


@dataclass(frozen=True, slots=True)
class Properties:
    """The properties of an object besides its content and type; None and empty values are not stored."""

    metadata: Mapping[str, str] = field(default_factory=dict)
    cache_control: str | None = None
    content_disposition: str | None = None
    content_encoding: str | None = None
    content_language: str | None = None
    expires: datetime | None = None
    storage_class: str | None = None
    canned_acl: str | None = None


@dataclass(frozen=True, slots=True)
class PutInput:
    """An upload as templates see it, in s3-proxy's names; `request_path` is the path below the mount."""

    request_path: str
    filename: str
    content_type: str
    content_size: int
    request_headers: HeaderFields


@dataclass(frozen=True, slots=True)
class PutData:
    """The data of templates of properties; `key` is the object's, with the prefix."""

    user: User | None
    input: PutInput
    key: ObjectKey


class PropertyTemplates:
    """The templates of a target's uploads, compiled."""

    def __init__(self, put: PutAction) -> None:
        system = put.system_metadata
        self._metadata = _compiled((name.lower(), text) for name, text in put.metadata)
        texts = {
            "cache_control": system.cache_control,
            "content_disposition": system.content_disposition,
            "content_encoding": system.content_encoding,
            "content_language": system.content_language,
            "expires": system.expires,
            "storage_class": put.storage_class,
        }
        self._others = _compiled((name, text) for name, text in texts.items() if text)
        self._canned_acl = put.canned_acl
        self.read_size = any("ContentSize" in each.text for _, each in (*self._metadata, *self._others))
        """Whether a template may read the size, which has to be known before the content then."""

    def render(self, data: PutData) -> Properties:
        """The properties of an upload; raises `PropertyFailed`, `MetadataTooLarge`."""
        metadata = {name: _as_ascii(text) for name, text in _rendered(self._metadata, data)}
        size = sum(len(name) + len(text) for name, text in metadata.items())
        if size > MOST_METADATA:
            raise MetadataTooLarge(f"the metadata has {size} bytes, {MOST_METADATA} are possible")
        others: dict[str, str | datetime] = dict(_rendered(self._others, data))
        if "expires" in others:
            others["expires"] = _moment(str(others["expires"]))
        return Properties(metadata, **others, canned_acl=self._canned_acl)  # type: ignore[arg-type]

    def check_size(self, size: int | None) -> None:
        """Raises `LengthRequired` if a template reads the size and it is unknown."""
        if self.read_size and size is None:
            raise LengthRequired("a template reads the size of an upload that does not announce it")


def _compiled(texts: Iterable[tuple[str, str]]) -> list[tuple[str, PageTemplate]]:
    if not (named := list(texts)):
        return []
    from tornado_proxy.templates.golang.pages import compile_page  # noqa: PLC0415 - only where uploads have properties

    return [(name, compile_page(text)) for name, text in named]


def _rendered(templates: list[tuple[str, PageTemplate]], data: PutData) -> Iterator[tuple[str, str]]:
    """Returns the results of templates without line ends; empty results are omitted."""
    for name, template in templates:
        try:
            text = template.render(data, _LIMITS).replace("\r\n", "").replace("\n", "")
        except RenderError as error:
            raise PropertyFailed(f"the template of `{name}` failed: {error}") from error
        if any(ord(character) < 32 or ord(character) == 127 for character in text):
            raise PropertyFailed(f"the template of `{name}` makes a control character")
        if text:
            yield name, text


def _as_ascii(text: str) -> str:
    """Returns a value of metadata as S3 returns non-ASCII values: encoded words (RFC 2047)."""
    return text if text.isascii() else Header(text, "utf-8").encode(maxlinelen=0)


def _moment(text: str) -> datetime:
    """Reads a time in the format of RFC 3339; raises `PropertyFailed`."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise PropertyFailed(f"the template of `expires` makes `{text}`, which is not a moment of RFC 3339")
    return moment


_ANY_HOST = ""

Step = Literal["login", "callback", "logout"]
"""A page of a provider: a step of a sign-in."""


@dataclass(frozen=True, slots=True)
class Site:
    """A target ready for requests: its configuration, rules and access, all compiled."""

    target: Target
    rules: RuleSet
    access: Access = field(compare=False, repr=False)
    data: TargetData = field(init=False, compare=False, repr=False)
    methods: tuple[str, ...] = field(init=False, compare=False, repr=False)
    has_webhooks: bool = field(init=False, compare=False, repr=False)
    properties: PropertyTemplates | None = field(init=False, compare=False, repr=False)
    _hidden: Pattern | None = field(init=False, compare=False, repr=False)  # of the names that listings leave out

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", target_data(self.target))
        actions, listing = self.target.actions, self.target.listing
        get, head, put, delete = actions.get, actions.head, actions.put, actions.delete
        object.__setattr__(self, "methods", actions.methods)
        object.__setattr__(self, "has_webhooks", bool(get.webhooks or head.webhooks or put.webhooks or delete.webhooks))
        object.__setattr__(self, "properties", PropertyTemplates(put) if put.enabled else None)
        object.__setattr__(self, "_hidden", _names(listing.hidden) if listing.hidden else None)

    def shows(self, name: str) -> bool:
        """Whether listings show an entry, whose name ends in `/` for a directory."""
        return self._hidden is None or self._hidden.search(name.removesuffix("/")) is None


def _names(globs: Sequence[str]) -> Pattern:
    """The names that globs cover: `*` is any part of a name, `?` one character."""
    meanings = {"*": ".*", "?": "."}
    expressions = ("".join(meanings.get(each) or re.escape(each) for each in glob) for glob in globs)
    return compile_pattern(rf"(?s)\A(?:{'|'.join(expressions)})\z")


def sites(targets: Iterable[Target], rule_sets: Mapping[str, RuleSet], known: Iterable[Site] = ()) -> tuple[Site, ...]:
    """Returns each target with its rules and access, in order; a target without rules has an empty rule set.

    Of a `known` target that is unchanged, only the rules are new; of one with the same resources, the access is reused.
    """
    compiled = {each.target.name: each for each in known}
    found = []
    for target in targets:
        rules, before = rule_sets.get(target.name, RuleSet(target.name)), compiled.get(target.name)
        if before is not None and before.target == target:
            site = copy(before)  # what was compiled of the target is not compiled again
            object.__setattr__(site, "target", target)
            object.__setattr__(site, "rules", rules)
        else:
            is_same = before is not None and before.target.resources == target.resources
            site = Site(target, rules, before.access if before is not None and is_same else Access(target.resources))
        found.append(site)
    return tuple(found)


class RouteMatch(NamedTuple):
    """The site of a request, the mount path that matched (it ends in `/`), and the key below it.

    A request for the mount path without its closing slash also has the key `/`; its path differs.
    """

    site: Site
    mount: str
    key: Key


class _Entry(NamedTuple):
    host: str
    path: str
    site: Site


class Mounts:
    """All sites by host and path: exact host, then pattern, then any; then the longest path; then file order."""

    def __init__(
        self, sites: Sequence[Site], providers: Iterable[OidcProvider] = (), target_list: TargetList | None = None
    ) -> None:
        self.sites = tuple(sites)
        self.target_list = TargetListPage(target_list) if target_list and target_list.enabled else None
        self.provider_pages = dict(_provider_pages(providers))
        entries = [_Entry(_host_key(each), path, each) for each in sites for path in each.target.mount.paths]
        patterned: list[_Entry] = []
        by_host: dict[str, list[_Entry]] = {}
        for each in entries:
            (patterned if "*" in each.host else by_host.setdefault(each.host, [])).append(each)
        self._patterns = _Patterns(patterned) if patterned else None
        self._any_host = _Paths(by_host.pop(_ANY_HOST, ()))
        self._by_host = {host: _Paths(those) for host, those in by_host.items()}

    def find(self, host: str, path: RequestPath) -> RouteMatch | None:
        """Finds the site for a host (no port, lower case) and a path; None if no target is mounted there."""
        # Every mount path ends in `/`, so a path that does too can only be cut at a segment's border.
        slashed = path if path.endswith("/") else f"{path}/"
        exact = self._by_host.get(host)
        entry = exact.find(slashed) if exact else None
        entry = entry or (self._patterns and self._patterns.find(host, slashed)) or self._any_host.find(slashed)
        return RouteMatch(entry.site, entry.path, Key(path[len(entry.path) - 1 :] or "/")) if entry else None


def _provider_pages(providers: Iterable[OidcProvider]) -> Iterator[tuple[str, tuple[str, Step]]]:
    """The paths of the pages of providers, with and without a closing slash; they precede mounts."""
    for each in providers:
        pages: tuple[tuple[str, Step], ...] = (
            (each.login_path, "login"),
            (each.callback_path, "callback"),
            (each.logout_path, "logout"),
        )
        for path, step in pages:
            bare = path.rstrip("/")
            yield from ((spelt, (each.name, step)) for spelt in (bare, f"{bare}/"))


class TargetListPage:
    """The page of all targets: its paths and its access."""

    def __init__(self, settings: TargetList) -> None:
        self.paths = frozenset(settings.mount.paths)
        host = host_name(settings.mount.host)
        self.host = compile_pattern(rf"\A{host_expression(host)}\z" if host not in ("", "*") else "")
        self.access = Access((settings.resource,) if settings.resource else ())

    def is_at(self, host: str, path: RequestPath) -> bool:
        """Whether a host and a path lead to the page."""
        return path in self.paths and self.host.search(host) is not None


class _Paths:
    """The mounts of one host by path: one lookup for each length of a mount path, the longest first."""

    def __init__(self, entries: Sequence[_Entry]) -> None:
        # Of two mounts of one host and path, the first in the file stands.
        self._entries = {each.path: each for each in reversed(entries)}
        self._lengths = sorted({len(path) for path in self._entries}, reverse=True)

    def find(self, slashed: str) -> _Entry | None:
        for length in self._lengths:
            found = self._entries.get(slashed[:length])
            if found:
                return found
        return None


class _Patterns:
    """The mounts of host patterns: one pass over all, in order of precedence."""

    def __init__(self, entries: Sequence[_Entry]) -> None:
        self._entries = sorted(entries, key=lambda each: -len(each.path))
        expressions = (rf"\A{host_expression(each.host)} {re.escape(each.path)}" for each in self._entries)
        self._first_match = FirstMatch([compile_pattern(each) for each in expressions])

    def find(self, host: str, slashed: str) -> _Entry | None:
        found = self._first_match.find(f"{host} {slashed}")
        return self._entries[found[0]] if found else None


def _host_key(site: Site) -> str:
    host = host_name(site.target.mount.host)
    return _ANY_HOST if host == "*" else host


def host_expression(pattern: str) -> str:
    """Returns the expression of a host pattern, without anchors: `*` matches one or more characters, dots included."""
    return "[^/]+".join(re.escape(part) for part in pattern.split("*"))


def target_data(target: Target) -> TargetData:
    """Returns a target as templates read it."""
    bucket = target.bucket
    return TargetData(
        name=target.name,
        bucket_name=bucket.name,
        bucket_prefix=bucket.prefix,
        bucket_region=bucket.region,
        bucket_s3_endpoint=bucket.s3_endpoint or "",
        bucket_list_max_keys=bucket.list_max_keys,
        bucket_disable_ssl=bucket.disable_ssl,
        mount_host=target.mount.host,
        mount_paths=target.mount.paths,
    )
