"""Reads the template files of a configuration and compiles its pages and themes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from traceback import walk_tb

import msgspec
from jinja2 import TemplateSyntaxError
from msgspec.structs import replace

from tornado_proxy.config import model
from tornado_proxy.config.checks import Uploads, exposed_templates
from tornado_proxy.pages.custom import FILE_HEADERS, BucketKey, CustomPage, CustomPages, Part, Recipe
from tornado_proxy.pages.limits import LARGEST_TEMPLATE
from tornado_proxy.pages.render import REPLACEABLE, Pages
from tornado_proxy.rules.diagnostic import Diagnostic, Severity, SourceFile, Span, decode, read_file
from tornado_proxy.rules.loading import HelperTexts, Read, RuleFile
from tornado_proxy.templates.go import PageMistake

_UNTRUSTED = "sandbox; default-src 'self' 'unsafe-inline' data:"
"""The policy of pages whose template clients can upload: no scripts, and nothing of a visitor goes to other hosts."""


class LoadedPages(msgspec.Struct, frozen=True):
    """The pages of a configuration, the helpers for rules, and the diagnostics of the template files."""

    pages: CustomPages
    helpers: HelperTexts
    diagnostics: tuple[Diagnostic, ...] = ()


def template_places(settings: model.Settings) -> Mapping[Path, Span | None]:
    """Returns the template files and the directories of themes, each with the place that names it first."""
    named: dict[Path, Span | None] = {}
    for path, span in _named(settings):
        named.setdefault(settings.directory / path, span)
    return named


def _named(settings: model.Settings) -> Iterator[tuple[str, Span | None]]:
    general = settings.templates
    spans = general.place.values("helpers")
    yield from ((path, span) for path, span in zip_longest(general.helpers, spans) if path is not None)
    options: list[model.PageOptions | model.HelperOptions] = [*_pages(general).values()]
    for target in settings.targets:
        options += (*target.templates.helpers, *_pages(target.templates).values())
    for each in options:
        if each.path is not None and not getattr(each, "in_bucket", False):
            yield each.path, each.place.value("path")
    for theme in _themes(settings).values():
        for option, place in (("logo", theme.logo), ("css", theme.css), ("templates", theme.templates)):
            if place is not None and "://" not in place:
                yield place, theme.place.value(option)


def _pages(templates: model.Templates | model.TargetTemplates) -> dict[str, model.PageOptions]:
    return {kind: page for kind in model.PAGES if (page := getattr(templates, kind, None)) is not None}


def _themes(settings: model.Settings) -> Mapping[str | None, model.ThemeOptions]:
    """Returns the themes of a configuration by target; None is for all other pages."""
    named = ((None, settings.pages), *((each.name, each.pages) for each in settings.targets))
    return {name: theme for name, theme in named if theme is not None}


def read_templates(settings: model.Settings | None) -> Read:
    """Reads the files of templates; blocks."""
    if settings is None:
        return Read(())
    files: list[RuleFile] = []
    diagnostics: list[Diagnostic] = []
    themes = {settings.directory / each.templates for each in _themes(settings).values() if each.templates}
    for place, span in template_places(settings).items():
        for path in sorted(place.glob("*.html")) if place in themes and place.is_dir() else (place,):
            try:
                files.append(RuleFile(str(path), read_file(path, LARGEST_TEMPLATE, regular=True)))
            except OSError as error:
                message = f"`{path}` cannot be read: {error.strerror or error}"
                diagnostics.append(Diagnostic("unreadable-file", message, span))
    return Read(tuple(files), tuple(diagnostics))


def compile_pages(settings: model.Settings, read: Read) -> LoadedPages:
    """Compiles the pages of a configuration; a page with a mistake is left out and has a diagnostic."""
    loader = _Loader(settings, read)
    for target, kind, recipe, options in loader.recipes():
        loader.add(target, kind, recipe, options)
    themed = {name: pages for name, theme in _themes(settings).items() if (pages := loader.themed(theme))}
    diagnostics = tuple(dict.fromkeys((*read.diagnostics, *loader.diagnostics)))
    return LoadedPages(CustomPages(loader.pages, themed), loader.helpers, diagnostics)


class _Loader:
    """One run over the pages of a configuration; it collects the pages and the diagnostics."""

    def __init__(self, settings: model.Settings, read: Read) -> None:
        self._settings = settings
        self._targets = {each.name: each for each in settings.targets}
        self._uploads = Uploads(settings.targets)
        self._files = {file.name: file.data for file in read.files}
        self._sources: dict[str, SourceFile] = {}
        self.pages: dict[tuple[str | None, str], CustomPage | Recipe] = {}
        self.diagnostics: list[Diagnostic] = []
        logos = {self._name(each.logo) for each in _themes(settings).values() if each.logo}
        for file in read.files:
            if file.name in logos:
                continue
            source = decode(file.name, file.data)
            if isinstance(source, Diagnostic):
                self.diagnostics.append(source)
            else:
                self._sources[file.name] = source

    def helpers(self, target: str) -> tuple[str, ...]:
        """Returns the helpers for the rules of a target: those in files, since buckets are not read at load."""
        return tuple(each for each in self._helpers(self._targets.get(target)) if isinstance(each, str))

    def recipes(self) -> Iterator[tuple[str | None, str, Recipe, model.PageOptions | model.Target]]:
        """Yields the pages with target, kind and options; those for all targets again for each that has helpers."""
        general = _pages(self._settings.templates)
        for kind, page in general.items():
            if recipe := self._recipe(kind, page, None):
                yield None, kind, recipe, page
        for target in self._settings.targets:
            inherited = general if target.templates.helpers else {}
            for kind, page in (inherited | _pages(target.templates)).items():
                if recipe := self._recipe(kind, page, target):
                    yield target.name, kind, recipe, page
            if headers := target.actions.get.streamed_file_headers:
                yield target.name, FILE_HEADERS, Recipe(FILE_HEADERS, None, headers, "", self._helpers(target)), target

    def _recipe(self, kind: str, page: model.PageOptions, target: model.Target | None) -> Recipe | None:
        """Returns the recipe of a page; None if its file could not be read, which has a diagnostic."""
        base = _pages(self._settings.templates).get(kind, page)
        body = self._part(page)
        if page.path is not None and body is None:
            return None
        headers = page.headers
        has_policy = any(name.lower() == "content-security-policy" for name, _ in headers)
        # Those of the page and its helpers that an upload can replace.
        exposed = [each for each, _ in exposed_templates(target, self._uploads)] if target else []
        if not has_policy and any(each is page or isinstance(each, model.HelperOptions) for each in exposed):
            headers = (*headers, ("Content-Security-Policy", _UNTRUSTED))
        return Recipe(kind, body, headers, page.status or base.status, self._helpers(target))

    def _part(self, options: model.PageOptions | model.HelperOptions) -> Part | None:
        if options.path is None:
            return None
        if getattr(options, "in_bucket", False):
            return BucketKey(options.path)
        source = self._source(options.path)
        return source.text if source else None

    def _name(self, path: str) -> str:
        return str(self._settings.directory / path)

    def _source(self, path: str) -> SourceFile | None:
        return self._sources.get(self._name(path))

    def _helpers(self, target: model.Target | None) -> tuple[Part, ...]:
        own = target.templates.helpers if target is not None else ()
        options = own or [model.HelperOptions(each) for each in self._settings.templates.helpers]
        return tuple(part for each in options if (part := self._part(each)) is not None)

    def add(self, target: str | None, kind: str, recipe: Recipe, options: model.PageOptions | model.Target) -> None:
        """Compiles a page; of one with parts in a bucket, what is known now. A mistake becomes a diagnostic."""
        try:
            if not recipe.keys:
                self.pages[target, kind] = page = recipe.compiled()
                doubts = (self._diagnostic(each, recipe, options) for each in page.doubts)
                self.diagnostics += [replace(each, severity=Severity.WARNING) for each in doubts]
                return
            self.pages[target, kind] = recipe
            known = replace(recipe, body=None)
            if not known.keys:
                known.compiled()
        except PageMistake as error:
            self.diagnostics.append(self._diagnostic(error, recipe, options))

    def _diagnostic(self, error: PageMistake, recipe: Recipe, options: model.PageOptions | model.Target) -> Diagnostic:
        message, span = str(error), None
        if error.part == "path" or isinstance(error.part, int):
            text = recipe.helpers[error.part] if isinstance(error.part, int) else recipe.body
            source = next((each for each in self._sources.values() if each.text == text), None)
            end = error.end if error.end is not None else error.offset + 1
            span = Span(source, error.offset, min(end, len(source.text))) if source else None
        else:
            message = f"the {'status' if error.part == 'status' else f'header `{error.part}`'}: {error}"
            if isinstance(options, model.Target):
                span = options.actions.get.place.key("config")
            else:
                span = options.place.key("status" if error.part == "status" else "headers")
        return Diagnostic("bad-template", message, span, error.help)

    def themed(self, options: model.ThemeOptions) -> Pages | None:
        """Returns the service's pages with a theme; None after a mistake, which becomes a diagnostic."""
        logo, css = self._asset(options.logo), self._asset(options.css)
        folder = self._settings.directory / options.templates if options.templates else None
        templates = {Path(name).name: each.text for name, each in self._sources.items() if Path(name).parent == folder}
        unknown = [name for name in templates if name not in REPLACEABLE and not name.startswith("_")]
        pages_named = ", ".join(f"`{each}`" for each in REPLACEABLE)
        hint = f"the pages are {pages_named}; names of other templates begin with `_`"
        span = options.place.key("templates")
        self.diagnostics += [Diagnostic("unknown-page", f"no page is called `{name}`", span, hint) for name in unknown]
        if logo is None or css is None or unknown:
            return None
        try:
            pages = Pages(options.title or "", logo, css, templates)
            pages.check()
        except TemplateSyntaxError as error:
            message, places = str(error.message), [(error.name, error.lineno)]
        except Exception as error:  # noqa: BLE001 - a template can raise errors of any type
            message = f"a page cannot be made of these templates: {error}"
            places = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
        else:
            return pages
        for name, line in places:
            if name in templates and (source := self._source(f"{options.templates}/{name}")):
                start = source.offset(line, 1)
                span = Span(source, start, start + len(source.line(line)))
        self.diagnostics.append(Diagnostic("bad-template", message, span))
        return None

    def _asset(self, place: str | None) -> str | tuple[str, bytes] | None:
        """Returns a URL, a file's name and content, or an empty text; None if the file could not be read."""
        if place is None or "://" in place:
            return place or ""
        data = self._files.get(self._name(place))
        return None if data is None else (place, data)
