"""Converts the actions of a target with uploads and webhooks, and the templates of pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import PurePosixPath
from typing import get_args

import msgspec

from gotemplate.template.errors import TemplateMistake
from tornado_proxy.config import model, values
from tornado_proxy.config.actions import CannedAcl
from tornado_proxy.config.options import camel_case
from tornado_proxy.config.quantities import DAY
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.semantics.request import METHODS
from tornado_proxy.templates.go.built_in import callable_from
from tornado_proxy.templates.go.pages import compile_page
from tornado_proxy.tools.convert.options import OptionOutcome, Section, Setting, present, reference

_HELPERS = "templates/_helpers.tpl"  # s3-proxy's default; its helpers are built in here
PAGES = tuple(map(camel_case, model.PAGES))  # they have the same names here

Actions = dict[str, dict[str, Setting]]
ReadFile = Callable[[str], str | None]
"""Reads a file that s3-proxy's configuration names; returns None if it is not found."""


def no_file(_path: str) -> str | None:
    """Finds no file."""
    return None


def default_page(path: str) -> str | None:
    """Returns our own text for a default template of s3-proxy, `templates/*.tpl`; None for another path.

    An image of s3-proxy contains these files, so a configuration may name them without having them.
    """
    folder, _, name = path.rpartition("/")
    file = files(__package__).joinpath("default_pages", name)
    return file.read_text(encoding="utf-8") if folder == "templates" and name and file.is_file() else None


class PageConversion(msgspec.Struct):
    """Converts templates of pages, and collects the files to write and the helpers of all targets."""

    read: ReadFile = no_file
    files: dict[str, str] = {}
    helpers: tuple[str, ...] = ()  # the texts for all targets
    pages: frozenset[str] = frozenset()  # the kinds of pages for all targets

    def general(self, section: Section) -> dict[str, Setting]:
        """Converts the option `templates`."""
        places = [place for name in section.texts("helpers", [_HELPERS]) if (place := self._helper(name, section))]
        self.helpers = self._texts(places)
        settings = present({"helpers": places}) | dict(self._pages(section))
        self.pages = frozenset(settings)
        if section and settings:
            section.remark(OptionOutcome.CARRIED, "", "as `templates`")
        return settings

    def of_target(self, section: Section) -> tuple[dict[str, Setting], tuple[str, ...]]:
        """Converts the option `templates` of a target; returns also the texts of the helpers for its rewrites."""
        helpers: list[dict[str, Setting]] = []
        places: list[str] = []
        for each in section.sections("helpers"):
            if each.flag("inBucket"):
                helpers.append({"path": each.text("path"), "inBucket": True})
            elif place := self._helper(each.text("path"), each):
                helpers.append({"path": place})
                places.append(place)
        settings = present({"helpers": helpers}) | dict(self._pages(section))
        if settings:
            section.remark(OptionOutcome.CARRIED, "", "as `templates` of the target")
        return settings, self._texts(places) if "helpers" in section else self.helpers

    def headers(self, section: Section, name: str) -> dict[str, Setting]:
        """Converts an option of header names and their templates; headers that cannot be set are left out."""
        templates: dict[str, Setting] = {}
        for header, text in section.section(name).pairs().items():
            try:
                values.header_templates(((header, text),))
                self._compiled(text)
                templates[header] = text
            except InvalidValue as misfit:
                section.remark(OptionOutcome.LEFT_OUT, name, f"an answer {misfit.message}", misfit.help)
            except TemplateMistake as mistake:
                section.remark(OptionOutcome.LEFT_OUT, name, f"`{header}` is left out: {mistake}", mistake.help)
        return {name: templates} if templates else {}

    def _status(self, text: str) -> str:
        try:
            self._compiled(text)
        except TemplateMistake as mistake:
            raise InvalidValue(f"is left out: {mistake}", mistake.help) from None
        return values.status_template(text)

    def _texts(self, places: list[str]) -> tuple[str, ...]:
        return tuple(self.files[place] for place in places if place in self.files)

    def _pages(self, section: Section) -> Iterator[tuple[str, Setting]]:
        for kind in PAGES:
            if (page := section.section(kind)) and (settings := self._page(kind, page)):
                yield kind, settings

    def _page(self, kind: str, section: Section) -> dict[str, Setting]:
        settings = section.copied(texts=("path",), flags=("inBucket",)) | self.headers(section, "headers")
        if "path" in settings and "inBucket" not in settings:
            settings["path"] = self._file(section.text("path"), section)
        # An upload that succeeds is 201 here unless a page says otherwise; a target's page has the status of the one
        # for all targets.
        is_first = kind in ("put", "delete") and kind not in self.pages
        default: dict[str, Setting] = {"status": "204"} if is_first else {}
        return settings | (section.kept("status", self._status) or default)

    def _helper(self, path: str, section: Section) -> str | None:
        """Returns the place of a file of helpers; None for s3-proxy's own, which are built in."""
        return None if path == _HELPERS and self.read(path) is None else self._file(path, section, ())

    def _file(self, path: str, section: Section, helpers: Sequence[str] | None = None) -> str:
        """Returns the new place of a template, with its text if it was found; `helpers` replace the general ones."""
        text, pure = self.read(path), PurePosixPath(path)
        if text is None:
            text = default_page(path)
        place = f"templates/{pure.name}" if ".." in pure.parts else path.removeprefix("./")
        objection = None
        if text is None:
            objection = f"was not found: put it at `{place}` beside the new configuration"
        elif not pure.is_absolute():
            self.files[place] = text
            try:
                self._compiled(text, helpers)
            except TemplateMistake as mistake:
                objection = f"has to be changed: {mistake}"
        if objection and section:
            section.remark(OptionOutcome.CHANGED, "path", f"the template `{path}` {objection}")
        return place

    def _compiled(self, text: str, helpers: Sequence[str] | None = None) -> None:
        """Compiles a template; raises `TemplateMistake`."""
        texts = self.helpers if helpers is None else helpers
        try:
            compile_page(text, callable_from(text, texts))
        except TemplateMistake as mistake:
            # The helpers of a target are not known here.
            if "unknown template" not in str(mistake):
                raise


def actions(target: Section, pages: PageConversion) -> Actions:
    """Converts the actions of a target; without any, s3-proxy answers GET and nothing else."""
    section = target.section("actions")
    if not section:
        return {name: {"enabled": name == "GET"} for name in METHODS}
    return {name: _action(name, section.section(name), pages) for name in METHODS}


def _action(name: str, section: Section, pages: PageConversion) -> dict[str, Setting]:
    enabled = section.flag("enabled")
    config = section.section("config")
    settings: dict[str, Setting] = {}
    if name == "GET":
        settings = _get(config) | pages.headers(config, "streamedFileHeaders")
    if name == "PUT" and enabled:
        settings = _put(section, config)
    if hooks := [hook for each in config.sections("webhooks") if (hook := _webhook(each))]:
        settings["webhooks"] = hooks
    if not enabled:
        section.settle()
    return {"enabled": enabled, "config": settings} if settings else {"enabled": enabled}


# Options of GET whose effect differs, and the difference.
_DIFFERENCES = {
    "redirectWithTrailingSlashForNotFoundFile": (
        "a missing file is redirected only if there is a directory of that name; s3-proxy always redirects"
    ),
    "disableListing": "a directory is answered with 403; s3-proxy shows an empty one",
}


def _get(config: Section) -> dict[str, Setting]:
    flags = (*_DIFFERENCES, "redirectToSignedUrl", "userIsolation")
    # s3-proxy joins it to the directory as a path, so slashes at its ends have no effect.
    index = config.kept("indexDocument", lambda text: values.index_document(text.strip("/")))
    settings = index | config.copied(flags=flags)
    for name, difference in _DIFFERENCES.items():
        if name in settings:
            config.remark(OptionOutcome.CHANGED, name, difference)
    if "userIsolation" in settings:
        settings |= config.copied(lists=("userIsolationAdmins",))
    if duration := config.seconds("signedUrlExpiration"):
        if 1 <= duration <= 7 * DAY and duration == int(duration):
            settings["signedUrlExpiration"] = int(duration)
        else:
            text = config.text("signedUrlExpiration")
            message = f"`{text}` is not a whole number of seconds up to 7 days, as S3 demands; it is 15 minutes now"
            config.remark(OptionOutcome.LEFT_OUT, "signedUrlExpiration", message)
    return settings


_OF_UPLOADS = (
    (
        "the path of an upload has to end in `/`: without, the answer is 400; s3-proxy adds the slash",
        "let the clients add it, or set `rawUploads: true`, which stores the body sent to a path without it",
    ),
    (
        "files that browsers might run, such as HTML and SVG, are sent as attachments if uploads are enabled",
        "if you trust those who upload, set `activeContent: inline` in GET's `config`",
    ),
)
_METHODS_OF_WEBHOOKS = ("POST", "PATCH", "PUT", "DELETE")
_SYSTEM = ("cacheControl", "contentDisposition", "contentEncoding", "contentLanguage", "expires")


def _put(action: Section, config: Section) -> dict[str, Setting]:
    for message, advice in _OF_UPLOADS:
        action.remark(OptionOutcome.CHANGED, "", message, advice)
    if not config:
        message = "files may be replaced, as s3-proxy's code allows if PUT has no `config`; its documentation differs"
        action.remark(OptionOutcome.CHANGED, "config", message, "set `allowOverride: false` unless you want that")
        return {"allowOverride": True}
    settings: dict[str, Setting] = {"allowOverride": config.flag("allowOverride")}
    metadata, system = config.section("metadata"), config.section("systemMetadata")
    own = {"metadata": _templates(metadata, tuple(metadata.pairs())), "systemMetadata": _templates(system, _SYSTEM)}
    return settings | present(own) | _templates(config, ("storageClass",)) | config.kept("cannedACL", _canned_acl)


def _templates(section: Section, names: tuple[str, ...]) -> dict[str, Setting]:
    return {name: text for each in names for name, text in section.kept(each, values.property_template).items()}


def _canned_acl(text: str) -> str:
    if text not in get_args(CannedAcl):
        raise InvalidValue("is not a canned ACL of objects")
    return text


def _check_call(method: str, retries: int) -> None:
    if method not in _METHODS_OF_WEBHOOKS:
        raise InvalidValue(f"has the method `{method}`", f"{', '.join(_METHODS_OF_WEBHOOKS)} work")
    if retries < 0:
        raise InvalidValue("has a negative `retryCount`, with which s3-proxy never calls it")


def _webhook(section: Section) -> Mapping[str, Setting]:
    """Converts a webhook; the result is empty if the call has no equivalent."""
    pairs, secrets = section.section("headers").pairs(), section.section("secretHeaders")
    try:
        _check_call(section.text("method"), section.whole("retryCount", 0))
        values.http_url(section.text("url"))
        values.header_values(tuple(pairs.items()))
        values.header_pairs(tuple((name, "") for name, _ in secrets.named()))
    except InvalidValue as misfit:
        section.settle()
        section.remark(OptionOutcome.LEFT_OUT, "", f"the webhook is left out: it {misfit.message}", misfit.help)
        return {}
    named = present({name: reference(each) for name, each in secrets.named()})
    count = min(section.whole("retryCount", 0), 100)
    settings = section.copied(texts=("method", "url"))
    settings |= present({"headers": pairs, "secretHeaders": named, "retryCount": count})
    for name in ("defaultWaitTime", "maxWaitTime"):
        if (duration := section.seconds(name)) > 0:
            settings[name] = f"{min(duration, DAY) * 1000:.0f}ms"
    return settings
