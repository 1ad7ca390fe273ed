"""Converts the service's own options, its pages, its targets and their actions; closes a target if necessary."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

import msgspec

from tornado_proxy.config import model
from tornado_proxy.config.actions import Actions
from tornado_proxy.config.options import camel_case
from tornado_proxy.config.secrets import Credentials
from tornado_proxy.config.server import CacheHeaders, Cors, Ssl
from tornado_proxy.rules.tree import Dialect
from tornado_proxy.semantics.request import METHODS
from tornado_proxy.tools.convert.options import WORDS, NotConvertible, Section, Setting, present, remark_on_relative
from tornado_proxy.tools.convert.resources import Providers, closed, resources, signs_in
from tornado_proxy.tools.convert.rewrites import ConvertedRewrite, KeysAs, Surroundings, ignores_client, rewrites
from tornado_proxy.tools.limits import LONGEST_PREFLIGHT_AGE, MOST_LISTED_KEYS

_DEFAULT_LEVEL, _HIGHEST_LEVEL = 5, 9


def listener(name: str, root: Section) -> dict[str, Setting]:
    """Converts `server` or `internalServer`."""
    section = root.section(name)
    address, port = section.text("listenAddr"), section.whole("port", WORDS["ports"][name])
    settings: dict[str, Setting] = {"listenAddr": address, "port": port}
    if (ssl := section.section("ssl")).flag("enabled"):
        settings["ssl"] = ssl.translated(Ssl)
        for each in ssl.sections("certificates"):
            remark_on_relative(each, "certificateUrl")
            remark_on_relative(each, "privateKeyUrl")
    if name != "server":
        return settings
    cors, cache = section.section("cors"), section.section("cache")
    if cors.flag("enabled"):
        age = min(cors.whole("maxAge", 0), LONGEST_PREFLIGHT_AGE)
        settings["cors"] = cors.translated(Cors) | present({"maxAge": age})
    if not cache or cache.flag("noCacheEnabled"):
        settings["cache"] = {"noCacheEnabled": True}
    else:
        settings |= present({"cache": cache.translated(CacheHeaders)})
    compress = section.section("compress")
    if not compress.flag("enabled", default=True):
        return settings | {"compress": {"enabled": False}}
    compression: dict[str, Setting] = {"minSize": 0}  # s3-proxy compresses the smallest answers too
    if (level := compress.whole("level", _DEFAULT_LEVEL)) != _DEFAULT_LEVEL:
        compression["level"] = min(level, _HIGHEST_LEVEL)
    if "types" in compress:
        compression["types"] = compress.texts("types")
    return settings | {"compress": compression}


def log(root: Section) -> dict[str, Setting]:
    """Converts the log, which is JSON by default in s3-proxy."""
    section = root.section("log")
    level = section.text("level", "info").lower()
    is_json = section.text("format", "json") == "json"
    return {"level": WORDS["levels"].get(level, level), "format": "json" if is_json else "text"}


def actions(target: Section) -> dict[str, dict[str, Any]]:
    """Converts the actions of a target; without any, s3-proxy answers GET and nothing else."""
    section = target.section("actions")
    given: dict[str, Any] = section.translated(Actions)
    done: dict[str, dict[str, Any]] = {
        name: {"enabled": not section and name == "GET", **given.get(name, {})} for name in METHODS
    }
    put, options = section.section("PUT"), done["GET"].get("config", {})
    if put.flag("enabled") and not put.section("config"):
        message = "files may be replaced, as s3-proxy's code allows if PUT has no `config`; its documentation differs"
        put.changed("config", message, "set `allowOverride: false` unless you want that")
        done["PUT"]["config"] = {"allowOverride": True}
    for hook in (each for action in done.values() for each in action.get("config", {}).get("webhooks", ())):
        hook.setdefault("method", "GET")  # as s3-proxy calls it; the check of the new files refuses it
    if "indexDocument" in options:
        # s3-proxy joins it to the directory as a path, so slashes at its ends have no effect.
        options["indexDocument"] = options["indexDocument"].strip("/")
    # A target with HEAD alone is converted: only the order of s3-proxy's checks refuses it.
    if not any(action["enabled"] for action in done.values()):
        section.refused("", f"`{section.path}` enables no action")
    return done


_HELPERS = "templates/_helpers.tpl"  # s3-proxy's default; its helpers are built in here
PAGES = tuple(map(camel_case, model.PAGES))  # they have the same names here

ReadFile = Callable[[str], str | None]
"""Reads a file that s3-proxy's configuration names; returns None if it is not found."""


def default_page(path: str) -> str | None:
    """Returns our own text for a default template of s3-proxy, `templates/*.tpl`; None for another path.

    An image of s3-proxy contains these files, so a configuration may name them without having them.
    """
    folder, _, name = path.rpartition("/")
    file = files(__package__).joinpath("default_pages", name)
    return file.read_text(encoding="utf-8") if folder == "templates" and name and file.is_file() else None


class PageConversion(msgspec.Struct):
    """Converts templates of pages, and collects the files to write and the helpers of all targets."""

    read: ReadFile
    files: dict[str, str] = {}
    helpers: tuple[str, ...] = ()  # the texts for all targets
    pages: frozenset[str] = frozenset()  # the kinds of pages for all targets

    def general(self, section: Section) -> dict[str, Setting]:
        """Converts the option `templates`."""
        if "helpers" in section and not section.texts("helpers"):
            section.refused("helpers", "`templates.helpers` is empty")
        places = [place for name in section.texts("helpers", [_HELPERS]) if (place := self._helper(name, section))]
        self.helpers = self._texts(places)
        settings = present({**self._pages(section), "helpers": places})
        self.pages = frozenset(settings)
        if section and settings:
            section.carried("", "as `templates`")
        return settings

    def of_target(self, section: Section) -> tuple[dict[str, Setting], tuple[str, ...]]:
        """Converts the option `templates` of a target; returns also the texts of the helpers for its rewrites."""
        helpers: list[dict[str, Setting]] = []
        places: list[str] = []
        for each in section.sections("helpers"):
            if each.flag("inBucket"):
                helpers.append(each.translated(model.HelperOptions))
            elif place := self._helper(each.text("path"), each):
                helpers.append({"path": place})
                places.append(place)
        settings = present({**self._pages(section), "helpers": helpers})
        if settings:
            section.carried("", "as `templates` of the target")
        return settings, self._texts(places) if "helpers" in section else self.helpers

    def _texts(self, places: list[str]) -> tuple[str, ...]:
        return tuple(self.files[place] for place in places if place in self.files)

    def _pages(self, section: Section) -> dict[str, Setting]:
        pages: dict[str, Setting] = {}
        for kind in filter(section.__contains__, PAGES):
            page = section.section(kind)
            settings = page.translated(model.TargetPageOptions)
            if "path" in settings and "inBucket" not in settings:
                settings["path"] = self._file(page.text("path"), page)
            # An upload that succeeds is 201 here unless a page says otherwise; a target's page has the status of the
            # one for all targets.
            is_first = kind in ("put", "delete") and kind not in self.pages
            pages[kind] = {"status": "204", **settings} if is_first else settings
        return pages

    def _helper(self, path: str, section: Section) -> str | None:
        """Returns the place of a file of helpers; None for s3-proxy's own, which are built in."""
        return None if path == _HELPERS and self.read(path) is None else self._file(path, section)

    def _file(self, path: str, section: Section) -> str:
        """Returns the new place of a template, with its text if it was found."""
        text, pure = self.read(path), PurePosixPath(path)
        text = default_page(path) if text is None else text
        place = f"templates/{pure.name}" if ".." in pure.parts else path.removeprefix("./")
        if text is None and section:
            message = f"the template `{path}` was not found: put it at `{place}` beside the new configuration"
            section.changed("path", message)
        elif text is not None and not pure.is_absolute():
            self.files[place] = text
        return place


_PORT = re.compile(r":[0-9]+\Z")
_LEAST_PART, _MOST_PART = 5, 5120  # MiB


class ConvertedTarget(msgspec.Struct, frozen=True):
    """A target's settings, its rewrites, and the reason if it is closed to everyone."""

    name: str
    settings: Mapping[str, Setting]
    entries: tuple[ConvertedRewrite, ...] = ()
    closed: str | None = None
    paths: tuple[str, ...] = ()  # of the mount


def target(
    name: str, section: Section, providers: Providers, pages: PageConversion, keys_as: KeysAs
) -> ConvertedTarget | None:
    """Converts a target; returns None if that is impossible, so that its requests are answered with 404."""
    try:
        where, bucket = mount(section.section("mount")), _bucket(section.section("bucket"))
    except NotConvertible as error:
        section.closed("", f"the target is left out: {error}")
        return None
    templates, helpers = pages.of_target(section.section("templates"))
    done = actions(section)
    enabled = [method for method in METHODS if done[method]["enabled"]]
    for part in ("mount", "bucket", "actions"):
        if part in section:
            section.carried(part, f"as `targets.{name}.{part}`")
    prefix = section.section("bucket").text("prefix")
    in_front = prefix if not prefix or prefix.endswith("/") else f"{prefix}/"
    entries = rewrites(section, Surroundings(prefix, in_front, helpers), keys_as)
    get = section.section("actions").section("GET").section("config")
    if get.flag("userIsolation") and not any(map(signs_in, section.sections("resources"))):
        get.refused("userIsolation", f"`{section.path}` isolates users, and no resource signs them in")
    if entries and get.flag("userIsolation"):
        message = "a rewrite that leads out of the user's own directory is refused (403); s3-proxy follows it"
        section.changed("keyRewriteList", message)
    had_resources, kept = resources(section, providers, enabled)
    left_out = (each.original for each in entries if each.is_left_out)
    reason = None
    if had_resources and not kept:
        reason = "none of its resources could be converted"
    elif any(each.dialect is Dialect.GO and not ignores_client(each.target) for each in left_out):
        reason = "a rewrite that may depend on the client is left out, and users could read each other's files"
    if reason:
        resource, off = closed(where["path"][0], enabled)
        done[off] = {"enabled": False}
        kept = [resource]
        message = f"the target is closed to everyone, each request is answered with 403: {reason}"
        section.closed("", message, "write its `resources` and rules, then open it")
    here: dict[str, Setting] = {"mount": where, "bucket": bucket, "actions": done}
    settings = here | present({"resources": kept, "templates": templates})
    return ConvertedTarget(name, settings, tuple(entries), reason, tuple(where["path"]))


def mount(section: Section) -> dict[str, list[str] | str]:
    """Converts a mount; raises `NotConvertible`."""
    if not section:
        raise NotConvertible("it has no `mount`")
    paths, host = section.texts("path"), section.text("host")
    if not paths:
        # Here `/` is the default; in s3-proxy such a target has no path at all.
        raise NotConvertible("its `mount` has no `path`, so no request reaches it in s3-proxy")
    for path in paths:
        if not (path.startswith("/") and path.endswith("/")):
            section.refused("path", f"the mount path `{path}` is not of the form `/…/`")
        if set(path) & set("{}*"):
            raise NotConvertible(f"the mount path `{path}` is a pattern of s3-proxy's router")
    settings: dict[str, list[str] | str] = {"path": paths}
    if host in ("", "*"):
        return settings
    bare = _PORT.sub("", host)
    if bare != host:
        section.changed("host", f"`{host}` is `{bare}` on any port: hosts are compared without their port")
    if re.search(r"[^.*]\*|\*[^.*]", bare):
        message = f"each `*` of `{bare}` matches at least one character; in s3-proxy it may match nothing"
        section.changed("host", message)
    return {"host": bare.lower(), **settings}


def _bucket(section: Section) -> dict[str, Setting]:
    if not section:
        raise NotConvertible("it has no `bucket`")
    configured = section.text("prefix")
    directory = configured.strip("/")
    if "//" in directory:
        message = f"the prefix `{configured}` has an empty segment, which s3-proxy's SDK removes from some calls"
        raise NotConvertible(message)
    if configured.startswith("/"):
        message = f"s3-proxy lists below `{configured}`, where there is nothing; here `{directory}/` is listed"
        section.changed("prefix", message)
    # s3-proxy's client asks in path style by default.
    path_style = section.flag("s3ForcePathStyle", default=True)
    settings: dict[str, Setting] = {"name": "", "prefix": "", "region": "us-east-1"}
    settings |= section.translated(model.Bucket) | {"prefix": directory, "s3ForcePathStyle": path_style}
    keys = section.section("credentials").translated(Credentials)
    if "credentials" in section and {*keys} != {"accessKey", "secretKey"}:
        settings.pop("credentials", None)
        message = "one of the two keys is missing, so both are left out, and credentials are searched for elsewhere"
        section.changed("credentials", message)
    size, part = section.whole("s3ListMaxKeys", 1000), section.whole("s3UploadPartSize", 0)
    if size != 1000:
        settings["s3ListMaxKeys"] = max(1, min(size, MOST_LISTED_KEYS))
        message = "a listing has links to the following pages, of at most 1000 entries; s3-proxy cuts it off"
        section.changed("s3ListMaxKeys", message)
    if part:
        here = min(max(part, _LEAST_PART), _MOST_PART)
        settings["partSize"] = f"{here}MiB"
        if here != part:
            message = f"`{part}` is `{here}` here: S3 takes no other parts, and s3-proxy's uploads fail"
            section.changed("s3UploadPartSize", message)
    return present(settings)
