"""Converts the templates of pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from pathlib import PurePosixPath

import msgspec

from gotemplate.template.errors import TemplateMistake
from tornado_proxy.config import model, values
from tornado_proxy.config.options import camel_case
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.templates.go import callable_from, compile_page
from tornado_proxy.tools.convert.options import (
    Section,
    Setting,
    present,
)

_HELPERS = "templates/_helpers.tpl"  # s3-proxy's default; its helpers are built in here
PAGES = tuple(map(camel_case, model.PAGES))  # they have the same names here

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
        if "helpers" in section and not section.texts("helpers"):
            section.refused("helpers", "`templates.helpers` is empty")
        for page in map(section.section, PAGES):
            if "path" in page and not page.text("path"):
                page.refused("path", f"`{page.path}.path` is empty")
        places = [place for name in section.texts("helpers", [_HELPERS]) if (place := self._helper(name, section))]
        self.helpers = self._texts(places)
        settings = present({"helpers": places}) | dict(self._pages(section))
        self.pages = frozenset(settings)
        if section and settings:
            section.carried("", "as `templates`")
        return settings

    def of_target(self, section: Section) -> tuple[dict[str, Setting], tuple[str, ...]]:
        """Converts the option `templates` of a target; returns also the texts of the helpers for its rewrites."""
        for page in map(section.section, PAGES):
            if page and not page.text("path"):
                page.refused("", f"`{page.path}` has no `path`", "s3-proxy answers 500 where it needs the page")
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
            section.carried("", "as `templates` of the target")
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
                section.left_out(name, f"an answer {misfit.message}", misfit.help)
            except TemplateMistake as mistake:
                section.left_out(name, f"`{header}` is left out: {mistake}", mistake.help)
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
        settings = section.copied(texts="path", flags="inBucket") | self.headers(section, "headers")
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
            section.changed("path", f"the template `{path}` {objection}")
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
