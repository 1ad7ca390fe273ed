"""Refuses configurations that s3-proxy refuses or fails on: nothing would run as before.

The sources are its packages pkg/s3-proxy/config and pkg/s3-proxy/server. Its validator does not look into `targets` and
`authProviders`, so a mistake there often fails only when a request needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tornado_proxy.config import values
from tornado_proxy.config.server import tls_version
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.rules.diagnostic import Diagnostic
from tornado_proxy.semantics.request import METHODS
from tornado_proxy.tools.convert.options import Options, Section, Unreadable, where
from tornado_proxy.tools.convert.pages import PAGES
from tornado_proxy.tools.convert.resources import KINDS
from tornado_proxy.tools.convert.settings import LEVELS

_NO_START = "s3-proxy does not start"
_NO_SIGN_IN = "nobody can sign in with it"
_NO_DECISION = "s3-proxy answers 500 where it should ask"


def _mistake(section: Section, option: str, message: str, consequence: str = _NO_START) -> Diagnostic:
    """Returns a mistake in a section; `option` is empty for the section as a whole."""
    return Diagnostic("refused-by-s3-proxy", f"{where(section.place(option))}: {message}, so {consequence}")


def validate(options: Options) -> None:
    """Raises `Unreadable` with every mistake that keeps s3-proxy from serving."""
    # A root of its own, so that options that only this function reads still count as unread.
    if mistakes := tuple(_mistakes(Section(options))):
        raise Unreadable(*mistakes)


def _mistakes(root: Section) -> Iterator[Diagnostic]:
    yield from _servers(root)
    yield from _templates(root)
    declared = set[tuple[str, str]]()
    for kind in KINDS:
        for name, provider in root.section("authProviders").section(kind).named():
            declared.add((kind, name))
            yield from _provider(kind, name, provider)
    for _, target in root.section("targets").named():
        yield from _target(target, declared)
    page = root.section("listTargets")
    mount = page.section("mount")
    if mount and "path" not in mount:
        yield _mistake(mount, "", "`listTargets.mount` has no `path`")
    if page.flag("enabled"):
        if not mount:
            yield _mistake(page, "", "`listTargets` has no `mount`")
        resource = page.section("resource")
        yield from _mounted(page, [resource] if resource else [], declared)
    yield from _twice(root)


def _twice(root: Section) -> Iterator[Diagnostic]:
    """Finds mounts with the host and path of another: there s3-proxy's router ends the process."""
    page = root.section("listTargets")
    mounted = [*([page] if page.flag("enabled") else ()), *(target for _, target in root.section("targets").named())]
    seen = set[tuple[str, str]]()
    for mount in (each.section("mount") for each in mounted):
        for path in mount.texts("path"):
            place = mount.text("host").lower() or "*", path
            if place in seen:
                yield _mistake(mount, "path", f"the mount path `{path}` is given twice for one host")
            seen.add(place)


def _servers(root: Section) -> Iterator[Diagnostic]:
    for name in ("server", "internalServer"):
        server = root.section(name)
        if not server.whole("port", 1):
            yield _mistake(server, "port", f"`{name}.port` is 0")
        compress = server.section("compress")
        if compress.whole("level", 1) < 1:
            yield _mistake(compress, "level", f"`{compress.path}.level` is less than 1")
        if "types" in compress and not compress.texts("types"):
            yield _mistake(compress, "types", f"`{compress.path}.types` is empty")
        yield from _ssl(server.section("ssl"))
    log = root.section("log")
    if (level := log.text("level", "info")).lower() not in LEVELS:
        yield _mistake(log, "level", f"`{level}` is not a level")


def _templates(root: Section) -> Iterator[Diagnostic]:
    section = root.section("templates")
    if "helpers" in section and not section.texts("helpers"):
        yield _mistake(section, "helpers", "`templates.helpers` is empty")
    for page in map(section.section, PAGES):
        if "path" in page and not page.text("path"):
            yield _mistake(page, "path", f"`{page.path}.path` is empty")


def _ssl(section: Section) -> Iterator[Diagnostic]:
    """Checks the options of TLS, even if it is not enabled."""
    certificates = section.sections("certificates")
    if section.flag("enabled") and not (certificates or section.texts("selfSignedHostnames")):
        yield _mistake(section, "", f"`{section.path}` has neither `certificates` nor `selfSignedHostnames`")
    for option in ("minTLSVersion", "maxTLSVersion"):
        if section.text(option):
            yield from _required(section, option, tls_version)
    for certificate in certificates:
        for name in ("certificate", "privateKey"):
            if bool(certificate.text(name)) == bool(certificate.text(f"{name}Url")):
                which = "both given" if certificate.text(name) else "both missing"
                yield _mistake(certificate, f"{name}Url", f"`{name}` and `{name}Url` are {which}")
            config = certificate.section(f"{name}UrlConfig")
            if config.seconds("httpTimeout") < 0:
                yield _mistake(config, "httpTimeout", f"`{config.text('httpTimeout')}` is negative")


def _provider(kind: str, name: str, section: Section) -> Iterator[Diagnostic]:
    if kind == "oidc":
        yield from _required(section, "issuerUrl", values.http_url)
        yield from _required(section, "clientID", values.line, _NO_SIGN_IN)
        if section.text("redirectUrl"):
            yield from _required(section, "redirectUrl", values.http_url)
        if ":" in section.text("state"):
            yield _mistake(section, "state", f"`{section.path}.state` contains a `:`")
        login = section.text("loginPath") or f"/auth/{name}"
        callback = section.text("callbackPath") or f"/auth/{name}/callback"
        if "/" in (login, callback) or login == callback:
            yield _mistake(section, "", f"`{login}` and `{callback}` cannot be the pages of a sign-in")
        for option in ("loginPath", "callbackPath"):
            if (text := section.text(option)) not in ("", "/"):
                consequence = "it cannot be converted" if text.startswith("/") else _NO_START
                yield from _required(section, option, values.page_path, consequence)
    if kind == "header":
        for option in ("usernameHeader", "emailHeader"):
            yield from _required(section, option, values.header_name, _NO_SIGN_IN)
        if section.text("groupsHeader"):
            yield from _required(section, "groupsHeader", values.header_name, "nobody has a group")


def _required(
    section: Section, option: str, check: Callable[[str], object], consequence: str = _NO_START
) -> Iterator[Diagnostic]:
    text = section.text(option)
    if not text:
        yield _mistake(section, option, f"`{section.path}.{option}` is missing", consequence)
        return
    try:
        check(text)
    except InvalidValue as misfit:
        yield _mistake(section, option, f"`{section.path}.{option}` {misfit.message}", consequence)


def _target(section: Section, declared: set[tuple[str, str]]) -> Iterator[Diagnostic]:
    yield from _mounted(section, section.sections("resources"), declared)
    actions = section.section("actions")
    # A target with HEAD alone is converted: only the order of s3-proxy's checks refuses it.
    if actions and not any(actions.section(name).flag("enabled") for name in METHODS):
        yield _mistake(actions, "", f"`{actions.path}` enables no action")
    for page in map(section.section("templates").section, PAGES):
        if page and not page.text("path"):
            yield _mistake(page, "", f"`{page.path}` has no `path`", "s3-proxy answers 500 where it needs the page")
    config = actions.section("GET").section("config")
    if config.flag("userIsolation") and not any(map(_kinds, section.sections("resources"))):
        yield _mistake(config, "userIsolation", f"`{section.path}` isolates users, and no resource signs them in")


def _mounted(section: Section, resources: Sequence[Section], declared: set[tuple[str, str]]) -> Iterator[Diagnostic]:
    mount = section.section("mount")
    paths = mount.texts("path")
    for path in paths:
        if not (path.startswith("/") and path.endswith("/")):
            yield _mistake(mount, "path", f"the mount path `{path}` is not of the form `/…/`")
    for resource in resources:
        yield from _resource(resource, paths, declared)


def _kinds(section: Section) -> list[str]:
    return [kind for kind in KINDS if section.section(kind)]


def _resource(section: Section, mounts: Sequence[str], declared: set[tuple[str, str]]) -> Iterator[Diagnostic]:
    kinds = _kinds(section)
    name, anyone = section.text("provider"), section.flag("whiteList")
    unknown = sorted({*section.texts("methods")} - {*METHODS})
    undeclared = [kind for kind in kinds if name and (kind, name) not in declared]
    objections = {
        f"has the method `{''.join(unknown[:1])}`": unknown,
        "has neither `oidc`, `header` nor `basic`, and no `whiteList: true`": not kinds and not anyone,
        "has no `provider`": not name and not anyone,
        f"has the provider `{name}`, which is not one of `authProviders`": (
            name and name not in {each for _, each in declared}
        ),
        f"has the provider `{name}`, which is not one of `authProviders.{''.join(undeclared[:1])}`": undeclared,
        f"has the path `{section.text('path')}`, which is not below a mount path": (
            not section.text("path").startswith(tuple(mounts))
        ),
    }
    for text in [text for text, holds in objections.items() if holds][:1]:
        yield _mistake(section, "", f"`{section.path}` {text}")
    for kind in ("oidc", "header"):
        if demands := section.section(kind):
            rules, server = demands.sections("authorizationAccesses"), demands.section("authorizationOPAServer")
            if rules and server:
                yield _mistake(demands, "", f"`{demands.path}` has both rules and a policy server")
            for rule in rules:
                if not (rule.text("group") or rule.text("email")):
                    yield _mistake(rule, "", f"`{rule.path}` has neither `group` nor `email`", "it is about nobody")
            if server:
                yield from _required(server, "url", values.http_url, _NO_DECISION)
