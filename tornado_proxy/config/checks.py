"""Checks of what is valid section by section and still cannot be meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import PurePosixPath

from tornado_proxy.config import access_checks
from tornado_proxy.config.building import endpoint_of
from tornado_proxy.config.nodes import Node
from tornado_proxy.config.scene import Finding, NamedTarget, Scene, item_nodes
from tornado_proxy.config.target_sections import PutSection
from tornado_proxy.config.values import aws_objection
from tornado_proxy.lang.diagnostic import Diagnostic

MOST_PARTS = 10_000
"""The parts that an upload may have (S3 user guide, "Multipart upload limits")."""

_EVERY_INTERFACE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared, not listened on
_PERCENT_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")


def check(scene: Scene) -> Iterator[Diagnostic]:
    """What all checks find."""
    for each in _CHECKS:
        yield from each(scene)


def _overlapping_mounts(scene: Scene) -> Iterator[Diagnostic]:
    first: dict[tuple[str, str], tuple[NamedTarget, Node]] = {}
    for target in scene.targets():
        mount = target.section.mount
        if not scene.settled(target.section, "mount"):
            continue
        for path, node in zip(mount.path, _nodes_of_paths(target), strict=True):
            if (mount.host, path) in first:
                yield _overlap(scene, (mount.host, path), first[mount.host, path], (target, node))
            else:
                first[mount.host, path] = (target, node)


def _nodes_of_paths(target: NamedTarget) -> tuple[Node, ...]:
    section = target.section
    if "path" in section.mount.model_fields_set:
        return item_nodes(section.mount, "path")
    return (section.key_node("mount") if "mount" in section.model_fields_set else target.key,)


def _overlap(
    scene: Scene, place: tuple[str, str], first: tuple[NamedTarget, Node], second: tuple[NamedTarget, Node]
) -> Diagnostic:
    host, path = place
    where = f"`{path}` of {f'the host `{host}`' if host else 'any host'}"
    (one, one_node), (other, other_node) = first, second
    if one is other:
        message = f"`{one.name}` is mounted twice at {where}"
        return scene.warning(Finding("duplicate-mount", message, other_node, None, ("first given here", one_node)))
    message = f"targets `{one.name}` and `{other.name}` are both mounted at {where}"
    cure = "give one of them another path or host: nothing tells their requests apart"
    return scene.error(
        Finding("overlapping-mounts", message, other_node, cure, (f"`{one.name}` is mounted here", one_node))
    )


def _percent_escapes(scene: Scene) -> Iterator[Diagnostic]:
    for target in scene.targets():
        sections = (target.section.mount, *target.section.resources)
        settled = (each for each in sections if "path" in each.model_fields_set and scene.settled(each, "path"))
        for node in chain.from_iterable(item_nodes(each, "path") for each in settled):
            if found := _PERCENT_ESCAPE.search(scene.shown(node)):
                message = f"`{found.group()}` stands for itself, since paths are compared decoded"
                yield scene.warning(Finding("percent-escape", message, node, "write the character that is meant"))


def _same_listener(scene: Scene) -> Iterator[Diagnostic]:
    server, internal = scene.configuration.server, scene.configuration.internal_server
    same_address = server.listen_addr == internal.listen_addr
    overlap = same_address or _EVERY_INTERFACE & {server.listen_addr, internal.listen_addr}
    settled = scene.settled(scene.configuration, "server", "internalServer")
    if settled and overlap and server.port == internal.port != 0:
        written, other = (internal, server) if "port" in internal.model_fields_set else (server, internal)
        message = f"`server` and `internalServer` both listen on port {server.port}"
        note = ("the other one", other.value_node("port")) if "port" in other.model_fields_set else None
        yield scene.error(Finding("same-listener", message, written.value_node("port"), "give one another port", note))


def _duplicate_places(scene: Scene) -> Iterator[Diagnostic]:
    first: dict[PurePosixPath, Node] = {}
    configuration = scene.configuration
    if not configuration.rules or not scene.settled(configuration, "rules"):
        return
    nodes = item_nodes(configuration, "rules")
    for place, node in zip(configuration.rules, nodes, strict=True):
        path = PurePosixPath(place)
        if path in first:
            message = f"the rules in `{scene.shown(node)}` are listed twice"
            yield scene.error(Finding("duplicate-place", message, node, None, ("first listed here", first[path])))
        first.setdefault(path, node)


def _bucket_names(scene: Scene) -> Iterator[Diagnostic]:
    for target in scene.targets():
        bucket = target.section.bucket
        objection = aws_objection(bucket.name)
        if objection and endpoint_of(bucket) is None and scene.settled(bucket, "name", "s3Endpoint"):
            message = f"no bucket of AWS is called `{bucket.name}`"
            yield scene.warning(Finding("bucket-name", message, bucket.value_node("name"), objection))


def _schemes(scene: Scene) -> Iterator[Diagnostic]:
    for target in scene.targets():
        bucket = target.section.bucket
        if bucket.disable_ssl and (bucket.s3_endpoint or "").startswith("https:"):
            message = "`disableSSL` does nothing: `s3Endpoint` says `https`"
            yield scene.warning(Finding("no-effect", message, bucket.key_node("disableSSL")))


def _upload_sizes(scene: Scene) -> Iterator[Diagnostic]:
    for target in scene.targets():
        config, bucket = target.section.actions.put.config, target.section.bucket
        most = bucket.part_size * MOST_PARTS
        if config.max_size and config.max_size > most and scene.settled(bucket, "partSize"):
            message = f"`maxSize` is more than {MOST_PARTS} parts of `partSize` hold, and S3 takes no more parts"
            cure = f"raise `bucket.partSize` to at least {-(-config.max_size // MOST_PARTS)} bytes"
            yield scene.warning(Finding("too-many-parts", message, config.value_node("maxSize"), cure))


def _disabled_actions(scene: Scene) -> Iterator[Diagnostic]:
    for target in scene.targets():
        put: PutSection = target.section.actions.put
        given = put.model_fields_set
        if "config" in given and "enabled" not in given and scene.settled(put, "enabled"):
            node = target.section.actions.key_node("PUT")
            yield scene.warning(
                Finding("no-effect", "`PUT` is configured but not enabled", node, "add `enabled: true`")
            )


_CHECKS: tuple[Callable[[Scene], Iterator[Diagnostic]], ...] = (
    _overlapping_mounts,
    _percent_escapes,
    _same_listener,
    _duplicate_places,
    _bucket_names,
    _schemes,
    _upload_sizes,
    _disabled_actions,
    *access_checks.CHECKS,
)
