"""Converts the templates of pages."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import PurePosixPath

import msgspec

from tornado_proxy.config import model
from tornado_proxy.config.options import camel_case
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
        if text is None:
            text = default_page(path)
        place = f"templates/{pure.name}" if ".." in pure.parts else path.removeprefix("./")
        if text is None and section:
            message = f"the template `{path}` was not found: put it at `{place}` beside the new configuration"
            section.changed("path", message)
        elif text is not None and not pure.is_absolute():
            self.files[place] = text
        return place
