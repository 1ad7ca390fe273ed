"""Reads the template files of a configuration and compiles its pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tornado_proxy.config.model import Settings, Target
from tornado_proxy.config.pages import PAGES, HelperOptions, PageOptions, TargetPageOptions, ThemeOptions
from tornado_proxy.lang.diagnostic import Diagnostic, SourceFile, Span, decode, read_file
from tornado_proxy.pages.custom import FILE_HEADERS, BucketKey, CustomPage, CustomPageMistake, CustomPages, Part, Recipe
from tornado_proxy.rules.compile import HelperTexts
from tornado_proxy.rules.loading import Read, RuleFile

if TYPE_CHECKING:
    from tornado_proxy.pages.render import Pages

LARGEST = 1024 * 1024
"""The most bytes that a template may have."""


@dataclass(frozen=True, slots=True)
class LoadedPages:
    """The pages of a configuration, the helpers for rules, and the diagnostics of the template files."""

    pages: CustomPages
    helpers: HelperTexts
    diagnostics: tuple[Diagnostic, ...] = ()


def template_places(settings: Settings) -> Mapping[Path, Span | None]:
    """Returns the template files of a configuration, each with the place that names it first."""
    named: dict[Path, Span | None] = {}
    for path, span in _named(settings):
        named.setdefault(settings.directory / path, span)
    return named


def _named(settings: Settings) -> Iterator[tuple[str, Span | None]]:
    general = settings.templates
    for path in general.helpers:
        yield path, general.helpers_span
    for each in (getattr(general, kind) for kind in PAGES):
        if each is not None and each.path is not None:
            yield each.path, each.path_span
    for target in settings.targets:
        files: list[HelperOptions | TargetPageOptions] = [*target.templates.helpers, *dict(_own(target)).values()]
        for file in files:
            if file.path is not None and not file.in_bucket:
                yield file.path, file.path_span
        if target.pages is not None:
            yield from _of_theme(target.pages)
    if settings.pages is not None:
        yield from _of_theme(settings.pages)


def _themes(settings: Settings) -> Mapping[str | None, ThemeOptions]:
    """Returns the themes of a configuration by target; None is for all pages."""
    themes: dict[str | None, ThemeOptions | None] = {None: settings.pages}
    themes |= {each.name: each.pages for each in settings.targets}
    return {name: theme for name, theme in themes.items() if theme is not None}


def _of_theme(theme: ThemeOptions) -> Iterator[tuple[str, Span | None]]:
    """The files of a theme, and the directory of its templates."""
    for place, span in ((theme.logo, theme.logo_span), (theme.css, theme.css_span)):
        if place is not None and "://" not in place:
            yield place, span
    if theme.templates is not None:
        yield theme.templates, theme.templates_span


def _own(target: Target) -> Iterator[tuple[str, TargetPageOptions]]:
    """The pages of a target, by kind."""
    for kind in PAGES:
        page = getattr(target.templates, kind, None)
        if page is not None:
            yield kind, page


def read_templates(settings: Settings | None) -> Read:
    """The files of templates; blocks."""
    files: list[RuleFile] = []
    diagnostics: list[Diagnostic] = []
    for place, span in (template_places(settings) if settings else {}).items():
        for path in _theme_files(settings, place) if settings and place.is_dir() else (place,):
            try:
                files.append(RuleFile(str(path), read_file(path, LARGEST, regular=True)))
            except OSError as error:
                message = f"`{path}` cannot be read: {error.strerror or error}"
                diagnostics.append(Diagnostic("unreadable-file", message, span))
    return Read(tuple(files), tuple(diagnostics))


def _theme_files(settings: Settings, directory: Path) -> Sequence[Path]:
    """The templates of a directory that a theme names; what else is a directory is itself, and cannot be read."""
    named = (each.templates for each in _themes(settings).values())
    is_theme = any(each and settings.directory / each == directory for each in named)
    return sorted(directory.glob("*.html")) if is_theme else (directory,)


def compile_pages(settings: Settings, read: Read) -> LoadedPages:
    """Compiles the pages of a configuration; mistakes become diagnostics, and their pages are left out."""
    loader = _Loader(settings, read)
    for (target, kind), (recipe, page) in loader.recipes():
        loader.add(target, kind, recipe, page)
    themed = {name: pages for name, theme in _themes(settings).items() if (pages := loader.themed(theme))}
    diagnostics = tuple(dict.fromkeys((*read.diagnostics, *loader.diagnostics)))
    return LoadedPages(CustomPages(loader.pages, themed), loader.helpers, diagnostics)


class _Loader:
    """One run over the pages of a configuration."""

    def __init__(self, settings: Settings, read: Read) -> None:
        self._settings = settings
        self.diagnostics: list[Diagnostic] = []
        self.pages: dict[tuple[str | None, str], CustomPage | Recipe] = {}
        self._sources: dict[str, SourceFile] = {}
        self._files: dict[str, RuleFile] = {}
        for file in read.files:
            self._files[file.name] = file
            source, mistake = decode(file.name, file.data)
            if source is not None:
                self._sources[file.name] = source
            elif mistake is not None and not self._is_logo(file):
                self.diagnostics.append(mistake)
        self._targets = {each.name: each for each in settings.targets}

    def helpers(self, target: str) -> tuple[str, ...]:
        """Returns the helpers for the rules of a target: those in files, since buckets are not read at load."""
        named = self._targets.get(target)
        return tuple(each for each in self._helpers(named) if isinstance(each, str))

    def recipes(self) -> Iterator[tuple[tuple[str | None, str], tuple[Recipe, PageOptions | Target]]]:
        """Yields the configured pages with their places; a page for all targets counts for each with helpers too."""
        general = self._settings.templates
        for kind in PAGES:
            page: PageOptions | None = getattr(general, kind)
            if page is not None and (recipe := self._recipe(kind, page, None)):
                yield (None, kind), (recipe, page)
        for target in self._settings.targets:
            own = dict[str, PageOptions](_own(target))
            inherited = {kind: getattr(general, kind) for kind in PAGES if target.templates.helpers}
            for kind, page in ({kind: each for kind, each in inherited.items() if each} | own).items():
                if recipe := self._recipe(kind, page, target):
                    yield (target.name, kind), (recipe, page)
            if headers := target.actions.get.streamed_file_headers:
                recipe = Recipe(FILE_HEADERS, None, headers, "", self._helpers(target))
                yield (target.name, FILE_HEADERS), (recipe, target)

    def _recipe(self, kind: str, page: PageOptions, target: Target | None) -> Recipe | None:
        """Returns the recipe of a page; None if its file could not be read, which a diagnostic reports."""
        base: PageOptions | None = getattr(self._settings.templates, kind)
        status = page.status or (base.status if base else "")
        body = None if page.path is None else self._part(page)
        if page.path is not None and body is None:
            return None
        return Recipe(kind, body, page.headers, status, self._helpers(target))

    def _part(self, file: PageOptions | HelperOptions) -> Part | None:
        assert file.path is not None
        if getattr(file, "in_bucket", False):
            return BucketKey(file.path)
        source = self._source(file.path)
        return source.text if source else None

    def _source(self, path: str) -> SourceFile | None:
        return self._sources.get(str(self._settings.directory / path))

    def _helpers(self, target: Target | None) -> tuple[Part, ...]:
        if target is not None and target.templates.helpers:
            parts = [self._part(each) for each in target.templates.helpers]
            return tuple(each for each in parts if each is not None)
        sources = (self._source(path) for path in self._settings.templates.helpers)
        return tuple(each.text for each in sources if each is not None)

    def add(self, target: str | None, kind: str, recipe: Recipe, place: PageOptions | Target) -> None:
        """Compiles a page unless a part is in a bucket; a mistake becomes a diagnostic."""
        try:
            if not recipe.keys:
                self.pages[target, kind] = recipe.compiled()
                return
            self.pages[target, kind] = recipe
            here = replace(recipe, body=None)
            if not here.keys:
                here.compiled()
        except CustomPageMistake as error:
            self.diagnostics.append(self._diagnostic(error, recipe, place))

    def themed(self, options: ThemeOptions) -> Pages | None:
        """Returns the service's pages with a theme; None after a mistake, which becomes a diagnostic."""
        # Jinja2, which tools need for a theme only.
        from jinja2 import TemplateSyntaxError  # noqa: PLC0415

        from tornado_proxy.pages.render import Pages  # noqa: PLC0415
        from tornado_proxy.pages.theme import Look, Theme  # noqa: PLC0415

        known, before = {name: file.data for name, file in self._files.items()}, len(self.diagnostics)
        places = [self._asset(each, known) for each in (options.logo, options.css)]
        templates = dict(self._templates(options))
        if None in places or len(self.diagnostics) > before:
            return None
        try:
            pages = Pages(Theme(Look(options.title or "", places[0] or "", places[1] or "", templates)))
            pages.check()
        except TemplateSyntaxError as error:
            source = self._source(f"{options.templates}/{error.name}")
            span = _line(source, error.lineno) if source else options.templates_span
            self.diagnostics.append(Diagnostic("bad-template", str(error.message), span))
        except Exception as error:  # noqa: BLE001 - whatever a template does with what it is given
            message = f"a page cannot be made of these templates: {error}"
            self.diagnostics.append(Diagnostic("bad-template", message, options.templates_span))
        else:
            return pages
        return None

    def _is_logo(self, file: RuleFile) -> bool:
        logos = (each.logo for each in _themes(self._settings).values())
        return any(each and str(self._settings.directory / each) == file.name for each in logos)

    def _asset(self, place: str | None, known: Mapping[str, bytes]) -> str | tuple[str, bytes] | None:
        """A URL as it is, a file with its content, or nothing; None where the file could not be read."""
        if place is None or "://" in place:
            return place or ""
        data = known.get(str(self._settings.directory / place))
        return None if data is None else (place, data)

    def _templates(self, options: ThemeOptions) -> Iterator[tuple[str, str]]:
        """The templates of a theme by name; one that replaces nothing is a mistake."""
        if options.templates is None:
            return
        from tornado_proxy.pages.theme import REPLACEABLE  # noqa: PLC0415 - as above

        folder = self._settings.directory / options.templates
        for path in (Path(name) for name in self._files if Path(name).parent == folder):
            if path.name not in REPLACEABLE and not path.name.startswith("_"):
                names = ", ".join(f"`{each}`" for each in REPLACEABLE)
                advice = f"the pages are {names}; names of other templates begin with `_`"
                message = f"no page is called `{path.name}`"
                self.diagnostics.append(Diagnostic("unknown-page", message, options.templates_span, advice))
            elif source := self._sources.get(str(path)):
                yield path.name, source.text

    def _diagnostic(self, error: CustomPageMistake, recipe: Recipe, place: PageOptions | Target) -> Diagnostic:
        mistake, span = error.mistake, None
        text = recipe.helpers[error.part] if isinstance(error.part, int) else recipe.body
        source = next((each for each in self._sources.values() if each.text == text), None)
        message = str(mistake)
        if error.part == "path" or isinstance(error.part, int):
            end = mistake.end if mistake.end is not None else mistake.offset + 1
            span = Span(source, mistake.offset, min(end, len(source.text))) if source else None
        elif isinstance(place, Target):
            span, message = place.actions.get.config_span, f"the header `{error.part}`: {mistake}"
        else:
            span = place.status_span if error.part == "status" else place.headers_span
            message = f"the {'status' if error.part == 'status' else f'header `{error.part}`'}: {mistake}"
        return Diagnostic("bad-template", message, span, mistake.help)


def _line(source: SourceFile, number: int) -> Span:
    start = source.offset(number, 1)
    return Span(source, start, start + len(source.line(number)))
