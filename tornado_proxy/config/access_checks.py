"""Checks of who may do what: resources that contradict themselves, can never decide, or leave a door open."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tornado_proxy.config.building import methods_of
from tornado_proxy.config.nodes import Node
from tornado_proxy.config.quoting import enumeration
from tornado_proxy.config.scene import Finding, NamedTarget, Scene, key_of_name
from tornado_proxy.config.target_sections import ActionsSection, ResourceSection
from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.suggestion import did_you_mean

_NO_WILDCARD = re.compile(r"[?\[{]")


def _resources(scene: Scene) -> Iterator[tuple[NamedTarget, ResourceSection]]:
    for target in scene.targets():
        for resource in target.section.resources:
            yield target, resource


def _decisions(scene: Scene) -> Iterator[Diagnostic]:
    """A resource says that nobody need sign in, or with what; not both, not neither."""
    for _, resource in _resources(scene):
        if not scene.settled(resource, "provider", "whiteList", "basic"):
            continue
        asks = [option for option in ("provider", "basic") if option in resource.model_fields_set]
        if resource.white_list and asks:
            message = f"`whiteList` lets anyone in, and `{asks[0]}` asks who it is"
            note = (f"`{asks[0]}` is given here", resource.key_node(asks[0]))
            yield scene.error(
                Finding("contradiction", message, resource.key_node("whiteList"), "leave one of them out", note)
            )
        elif not resource.white_list and not resource.provider:
            yield scene.error(_undecided(resource))


def _undecided(resource: ResourceSection) -> Finding:
    if resource.basic:
        cure = "name one of `authProviders.basic`"
        return Finding("missing-option", "`basic` needs a `provider`", resource.key_node("basic"), cure)
    message = "the resource says neither who may nor that anyone may"
    cure = "add `provider` and `basic.credentials`, or `whiteList: true`"
    return Finding("undecided-resource", message, resource.key_node("path"), cure)


def _providers(scene: Scene) -> Iterator[Diagnostic]:
    providers = scene.configuration.auth_providers
    if not scene.settled(scene.configuration, "authProviders"):
        return
    for _, resource in _resources(scene):
        if resource.provider and resource.provider not in providers.basic:
            node = resource.value_node("provider")
            cure = _instead_of(resource.provider, list(providers.basic))
            yield scene.error(Finding("unknown-provider", f"unknown provider `{scene.shown(node)}`", node, cure))


def _instead_of(name: str, names: list[str]) -> str:
    near = did_you_mean(name, names)
    if near:
        return f"did you mean `{near}`?"
    return f"the providers are {enumeration(names)}" if names else "give it a realm in `authProviders.basic`"


def _credentials(scene: Scene) -> Iterator[Diagnostic]:
    for _, resource in _resources(scene):
        asks = resource.provider and not resource.white_list
        if asks and not resource.basic and scene.settled(resource, "basic"):
            node = resource.key_node("provider")
            message = "the resource names a `provider` but no user"
            yield scene.error(Finding("missing-credentials", message, node, "add `basic.credentials`"))


def _duplicate_users(scene: Scene) -> Iterator[Diagnostic]:
    for _, resource in _resources(scene):
        first: dict[str, Node] = {}
        for user in resource.basic.credentials if resource.basic else ():
            node = user.value_node("user")
            if not scene.settled(user, "user"):
                continue
            if user.user in first:
                message = f"the user `{scene.shown(node)}` is listed twice, and only the first password counts"
                yield scene.error(
                    Finding("duplicate-user", message, node, None, ("first listed here", first[user.user]))
                )
            first.setdefault(user.user, node)


def _unused_providers(scene: Scene) -> Iterator[Diagnostic]:
    providers = scene.configuration.auth_providers
    used = {resource.provider for _, resource in _resources(scene)}
    if not scene.settled(scene.configuration, "authProviders", "targets"):
        return
    for name in providers.basic.keys() - used:
        key = key_of_name(providers, "basic", name)
        yield scene.warning(Finding("unused-provider", f"no resource names the provider `{scene.shown(key)}`", key))


def _globs(scene: Scene) -> Iterator[Diagnostic]:
    for target, resource in _resources(scene):
        node = resource.value_node("path")
        if not scene.settled(resource, "path"):
            continue
        found = _NO_WILDCARD.search(resource.path)
        if found:
            message = f"`{found.group()}` stands for itself in a glob"
            cure = "`*` is any part of one segment, `**` any number of segments"
            yield scene.warning(Finding("glob-syntax", message, node, cure))
        if scene.settled(target.section, "mount"):
            mounts = target.section.mount.path
            if not any(_may_cover(resource.path, mount) for mount in mounts):
                message = f"the glob covers nothing of target `{target.name}`"
                cure = f"a glob covers the whole request path, the mount included: {enumeration(mounts)}"
                yield scene.warning(Finding("outside-mount", message, node, cure))


def _may_cover(glob: str, mount: str) -> bool:
    """Whether a path below a mount may match, judged by what stands before the first wildcard."""
    literal, wildcard, _ = glob.partition("*")
    if not wildcard:
        return f"{glob}/".startswith(mount)
    return literal.startswith(mount) or mount.startswith(literal)


def _unreachable(scene: Scene) -> Iterator[Diagnostic]:
    for target in scene.targets():
        earlier: list[ResourceSection] = []
        for resource in target.section.resources:
            covering = [each for each in earlier if _covers(each.path, resource.path)]
            taken = {method for each in covering for method in methods_of(each)}
            if taken.issuperset(methods_of(resource)) and scene.settled(target.section, "resources"):
                message = f"`{scene.shown(resource.value_node('path'))}` never decides: the first match does"
                note = ("this one takes its requests", covering[0].value_node("path"))
                cure = "move the special resource above the general one"
                yield scene.warning(Finding("unreachable-resource", message, resource.value_node("path"), cure, note))
            earlier.append(resource)


def _covers(general: str, special: str) -> bool:
    """Whether one glob takes all paths of another, where that is plain to see."""
    directory = general.removesuffix("/**")
    plain = directory != general and "*" not in directory
    return general == special or (plain and f"{special}/".startswith(f"{directory}/"))


def _open_writes(scene: Scene) -> Iterator[Diagnostic]:
    for target in scene.targets():
        actions = target.section.actions
        writes = [method for method in _enabled(actions) if method in {"PUT", "DELETE"}]
        if writes and not target.section.resources and scene.settled(target.section, "resources"):
            message = f"anyone may {enumeration(writes)} in target `{target.name}`"
            cure = "say who may in `resources`; `whiteList: true` there says that anyone may, and silences this"
            yield scene.warning(Finding("open-writes", message, actions.key_node(writes[0]), cure))


def _uncovered_methods(scene: Scene) -> Iterator[Diagnostic]:
    for target in scene.targets():
        section = target.section
        spoken_of = {method for resource in section.resources for method in methods_of(resource)}
        for method in _enabled(section.actions):
            if section.resources and method not in spoken_of and scene.settled(section, "resources", "actions"):
                message = f"`{method}` is enabled, but no resource speaks of it, so nobody may"
                cure = f"add `{method}` to the `methods` of a resource"
                yield scene.warning(Finding("uncovered-method", message, section.key_node("resources"), cure))


def _enabled(actions: ActionsSection) -> list[str]:
    pairs = (("GET", actions.get.enabled), ("PUT", actions.put.enabled), ("DELETE", actions.delete.enabled))
    return [method for method, enabled in pairs if enabled]


CHECKS: tuple[Callable[[Scene], Iterator[Diagnostic]], ...] = (
    _decisions,
    _providers,
    _credentials,
    _duplicate_users,
    _unused_providers,
    _globs,
    _unreachable,
    _open_writes,
    _uncovered_methods,
)
"""The checks of this module."""
