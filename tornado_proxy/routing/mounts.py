"""Sites, which are targets ready for requests, found by host and path."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

import msgspec

from gotemplate.regexp.matching import FirstMatch, Pattern, compile_pattern
from tornado_proxy.config.model import Target, TargetList
from tornado_proxy.config.providers import OidcProvider
from tornado_proxy.routing.access import Access
from tornado_proxy.routing.request import host_name
from tornado_proxy.routing.upload_steps import PropertyTemplates
from tornado_proxy.rules.model import Key, RuleSet, fold
from tornado_proxy.semantics.request import RequestPath
from tornado_proxy.templates.template import ResourceData, TargetData

_ANY_HOST = ""


class Site:
    """A target that is ready for requests: its configuration, rules and access, compiled."""

    def __init__(self, target: Target, rules: RuleSet) -> None:
        self.target = target
        self.rules = rules
        self.folding = target.bucket.folding
        self.access = Access(target.resources, self.folding)
        self.data = target_data(target)
        host = host_name(target.mount.host)
        self.host = _ANY_HOST if host == "*" else host  # or a pattern
        self.methods = target.actions.methods
        self.webhooks = {method: action.webhooks for method, action in target.actions.by_method.items()}
        put = target.actions.put
        self.properties = PropertyTemplates(put) if put.enabled else None
        self.hides = bool(target.listing.hidden)  # names in listings
        self._hidden = _names(target.listing.hidden) if self.hides else None

    def shows(self, name: str) -> bool:
        """Whether listings show an entry, whose name ends in `/` for a directory."""
        return self._hidden is None or self._hidden.search(name.removesuffix("/")) is None


def _names(globs: Sequence[str]) -> Pattern:
    """Returns the pattern of the names that globs cover: `*` is any part of a name, `?` one character."""
    meanings = {"*": ".*", "?": "."}
    expressions = ("".join(meanings.get(each) or re.escape(each) for each in glob) for glob in globs)
    return compile_pattern(rf"(?s)\A(?:{'|'.join(expressions)})\z")


def sites(targets: Iterable[Target], rule_sets: Mapping[str, RuleSet], before: Iterable[Site] = ()) -> tuple[Site, ...]:
    """Returns each target with its rules, in order; of a target that is as in `before`, only the rules are new."""
    compiled = {each.target.name: each for each in before}
    made = []
    for target in targets:
        rules, site_before = rule_sets.get(target.name, RuleSet(target.name)), compiled.get(target.name)
        if site_before is not None and site_before.target == target:
            site = copy(site_before)  # what was compiled of the target is not compiled again
            site.target, site.rules = target, rules
        else:
            site = Site(target, rules)
        made.append(site)
    return tuple(made)


class RouteMatch(msgspec.Struct, frozen=True):
    """The site of a request, the mount path that matched (it ends in `/`), and the key below it.

    A request for the mount path without its closing slash also has the key `/`; its path differs.
    """

    site: Site
    mount: str
    key: Key


class _Entry(NamedTuple):
    path: str
    site: Site


class Mounts:
    """All sites by host and path: exact host, then pattern, then any; then the longest path; then file order."""

    def __init__(
        self, sites: Sequence[Site], providers: Iterable[OidcProvider] = (), target_list: TargetList | None = None
    ) -> None:
        self.sites = tuple(sites)
        self.decided: dict[tuple[str, str, RequestPath], Any] = {}  # what `routing.decide` keeps
        self._configured = tuple(providers), target_list
        self.target_list = TargetListPage(target_list) if target_list and target_list.enabled else None
        # The pages of providers, with and without a closing slash, precede mounts.
        self.provider_pages = {
            path.rstrip("/") + slash: (each.name, step)
            for each in self._configured[0]
            for step, path in each.pages.items()
            for slash in ("", "/")
        }
        listed = self.target_list.paths if self.target_list else ()
        mounted = (path for site in sites for path in site.target.mount.paths)
        paths = {*mounted, *self.provider_pages, *listed}
        entries = [_Entry(path, site) for site in sites for path in site.target.mount.paths]
        self._hosts = _Hosts(entries)
        foldings = {each.folding for each in sites}
        self._folded_paths = {each: sorted({fold(path, each) for path in paths}) for each in foldings}
        folded = {each: [_Entry(fold(path, each), site) for path, site in entries] for each in foldings}
        self._folded_hosts = {each: self._hosts if of == entries else _Hosts(of) for each, of in folded.items()}

    def of_sites(self, sites: Sequence[Site]) -> Mounts:
        """Returns the mounts of other sites, with the same pages of providers and of the list of targets."""
        return Mounts(sites, *self._configured)

    def find(self, host: str, path: RequestPath) -> RouteMatch | None:
        """Finds the site for a host (no port, lower case) and a path; None if no target is mounted there."""
        entry = self._hosts.find(host, path)
        return RouteMatch(entry.site, entry.path, Key(path[len(entry.path) - 1 :] or "/")) if entry else None

    def hides(self, host: str, path: RequestPath, match: RouteMatch) -> bool:
        """Whether something else is mounted where a path of a site leads once its store has folded it."""
        folding = match.site.folding
        folded, hosts = fold(path, folding), self._folded_hosts[folding]
        if folded == path and hosts is self._hosts:
            return False
        entry = hosts.find(host, folded)
        return entry is not None and entry.path != fold(match.mount, folding)

    def has_below(self, path: str, site: Site) -> bool:
        """Whether anything is mounted below a directory of a site as its store reads it, at whatever host."""
        folded, paths = fold(path, site.folding), self._folded_paths[site.folding]
        after = bisect_right(paths, folded)
        return after < len(paths) and paths[after].startswith(folded)


class TargetListPage:
    """The page of all targets: its place and its access."""

    def __init__(self, settings: TargetList) -> None:
        # As a target is, the page is also at its path without the closing slash.
        self.paths = {path.rstrip("/") + slash: path for path in settings.mount.paths for slash in ("", "/")}
        host = host_name(settings.mount.host)
        self.host = compile_pattern(rf"\A{host_expression(host)}\z" if host not in ("", "*") else "")
        self.access = Access((settings.resource,) if settings.resource else ())

    def find(self, host: str, path: str) -> RequestPath | None:
        """Returns the path of the page with its closing slash if a host and a path lead there."""
        slashed = self.paths.get(path)
        return RequestPath(slashed) if slashed and self.host.search(host) else None


class _Hosts:
    """Mounts by host and path."""

    def __init__(self, entries: Iterable[_Entry]) -> None:
        patterned: list[_Entry] = []
        self._exact: dict[tuple[str, str], _Entry] = {}
        for each in entries:
            if "*" in each.site.host:
                patterned.append(each)
            else:  # of two mounts of one host and path, the first in the file stands
                self._exact.setdefault((each.site.host, each.path), each)
        self._lengths = sorted({len(path) for _, path in self._exact}, reverse=True)
        # One pass over all host patterns, those of the longest paths first.
        self._patterned = sorted(patterned, key=lambda each: -len(each.path))
        expressions = (rf"\A{host_expression(each.site.host)} {re.escape(each.path)}" for each in self._patterned)
        self._first_pattern = FirstMatch([compile_pattern(each) for each in expressions])

    def find(self, host: str, path: str) -> _Entry | None:
        # Every mount path ends in `/`, so a path that does too can only be cut at a segment's border.
        slashed = path if path.endswith("/") else f"{path}/"
        if entry := self._longest(host, slashed):
            return entry
        match = self._first_pattern.find(f"{host} {slashed}") if self._patterned else None
        return self._patterned[match[0]] if match else self._longest(_ANY_HOST, slashed)

    def _longest(self, host: str, slashed: str) -> _Entry | None:
        found = (self._exact.get((host, slashed[:length])) for length in self._lengths)
        return next(filter(None, found), None)


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
        try_files=target.actions.get.try_files,
        actions=target.actions.methods,
        resources=tuple(
            ResourceData(each.path, each.methods, each.provider or "", each.white_list) for each in target.resources
        ),
    )
