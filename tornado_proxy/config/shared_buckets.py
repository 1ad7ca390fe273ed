"""Targets that share a bucket: what one takes as an upload, another one serves, or runs as a template."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from msgspec.structs import replace

from tornado_proxy.config.model import PAGES, Bucket, HelperOptions, Settings, Target, TargetPageOptions
from tornado_proxy.config.reader import ValidationContext, warning
from tornado_proxy.rules.diagnostic import Diagnostic, Note
from tornado_proxy.rules.model import fold

_PORTS = {"http": 80, "https": 443}
_AWS = ".amazonaws.com"


class Uploads:
    """The places of buckets to which targets take uploads; rules may give an upload any key below a target's prefix."""

    def __init__(self, targets: Iterable[Target]) -> None:
        self._by_store: dict[tuple[str, str], dict[str, Target]] = {}
        for target in targets:
            if target.actions.put.enabled:
                places = self._by_store.setdefault(_store(target.bucket), {})
                places.setdefault(_prefix(target.bucket), target)
        self._sorted = {store: sorted(places) for store, places in self._by_store.items()}

    def above(self, bucket: Bucket, key: str) -> Target | None:
        """Returns a target that takes uploads to an object key, such as a template's; None if there is none."""
        return self._above(bucket, fold(f"/{key}", bucket.folding))

    def _above(self, bucket: Bucket, place: str) -> Target | None:
        places = self._by_store.get(_store(bucket), {})
        ends = (at + 1 for at, character in enumerate(place) if character == "/")
        return next((places[place[:end]] for end in ends if place[:end] in places), None)

    def within(self, bucket: Bucket) -> Target | None:
        """Returns a target that takes uploads to what is served of a bucket; None if there is none."""
        place = _prefix(bucket)
        if (target := self._above(bucket, place)) is not None:
            return target
        places = self._sorted.get(_store(bucket), [])
        after = bisect_right(places, place)
        below = after < len(places) and places[after].startswith(place)
        return self._by_store[_store(bucket)][places[after]] if below else None


def _store(bucket: Bucket) -> tuple[str, str]:
    """Returns what tells one bucket from another: its name, and the host and port of its store."""
    scheme = "http" if bucket.disable_ssl else "https"
    endpoint = bucket.s3_endpoint or ""
    url = urlsplit(endpoint if "://" in endpoint else f"{scheme}://{endpoint}")
    host = url.hostname or ""
    return bucket.name, "" if host.endswith(_AWS) else f"{host}:{url.port or _PORTS.get(url.scheme)}" if host else ""


def _prefix(bucket: Bucket) -> str:
    return fold(f"/{'/' if bucket.leading_slash else ''}{bucket.prefix}", bucket.folding)


def resolved(settings: Settings) -> Settings:
    """Returns settings in which files that another target takes as uploads are attachments, unless the file decides."""
    uploads, targets = Uploads(settings.targets), []
    for target in settings.targets:
        get = target.actions.get
        if get.active_content == "auto" and not target.actions.put.enabled and uploads.within(target.bucket):
            get = replace(get, active_content="attachment")
        targets.append(replace(target, actions=replace(target.actions, get=get)))
    return replace(settings, targets=tuple(targets))


def _served(context: ValidationContext) -> Iterator[Diagnostic]:
    uploads = Uploads(context.settings.targets)
    served: dict[str, tuple[Target, list[Target]]] = {}  # by the target that takes the uploads
    for target in context.settings.targets:
        uploader = uploads.within(target.bucket)
        is_decided = context.is_set(target.actions.get, "config.activeContent") or target.actions.put.enabled
        if uploader is not None and not is_decided and target.actions.get.enabled:
            served.setdefault(uploader.name, (uploader, []))[1].append(target)
    for uploader, targets in served.values():
        other, names = context.quoted_name(uploader), ", ".join(map(context.quoted_name, targets))
        of = f" of {names}" if targets[1:] else ""
        message = f"HTML, SVG and other active files{of} are attachments, since target {other} takes uploads here"
        advice = "set `activeContent: inline` if you trust those who upload, else `attachment`"
        notes = (Note("the uploads are enabled here", context.key(uploader.actions, "PUT")),)
        yield warning("shared-uploads", message, context.key(targets[0], "bucket"), advice, notes)


def exposed_templates(target: Target, uploads: Uploads) -> Iterator[tuple[TargetPageOptions | HelperOptions, Target]]:
    """Yields the templates of a target that uploads can replace, each with a target that takes them."""
    pages = (getattr(target.templates, name) for name in PAGES if name != "target_list")
    for each in (*filter(None, pages), *target.templates.helpers):
        reaching = uploads.above(target.bucket, each.path) if each.path and each.in_bucket else None
        if reaching is not None and target.actions.get.active_content != "inline":
            yield each, reaching


def _templates(context: ValidationContext) -> Iterator[Diagnostic]:
    uploads = Uploads(context.settings.targets)
    for target in context.settings.targets:
        for template, uploader in exposed_templates(target, uploads):
            other, node = context.quoted_name(uploader), context.values(template, "path")[0]
            message = f"pages of this template run no scripts, since target {other} takes uploads to its key"
            advice = "move it out of the prefix, or set `activeContent: inline` if you trust those who upload"
            yield warning("shared-uploads", message, node, advice)


CHECKS = (_served, _templates)
"""The checks of this module."""
