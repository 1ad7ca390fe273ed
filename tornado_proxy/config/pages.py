"""Custom pages: sections of the configuration that name templates, their headers and their statuses."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, ClassVar

from tornado_proxy.config import values
from tornado_proxy.config.options import GIB, Bounds, Constraint, Mark, Size, option, place_of
from tornado_proxy.config.providers import Line
from tornado_proxy.lang.diagnostic import Span

NamePattern = Annotated[str, Constraint(values.name_pattern)]
LogoPlace = Annotated[str, Constraint(values.logo_place, (("minLength", 1),))]
SheetPlace = Annotated[str, Constraint(values.sheet_place, (("minLength", 1),))]
TemplatePath = Annotated[str, Constraint(values.line, (("minLength", 1),))]
HeaderTemplates = Annotated[tuple[tuple[str, str], ...], Mark.PAIRS, Constraint(values.header_templates)]
StatusTemplate = Annotated[str, Constraint(values.status_template)]


@dataclass(frozen=True, slots=True)
class PageOptions:
    """A page: its Go template, and the templates of its headers and its status."""

    shape: ClassVar[str] = "such as `{path: pages/not-found.tpl}`"

    path: TemplatePath | None = option(
        "The file of the template, relative to the configuration file. The default is the service's page.",
        default=None,
    )
    headers: HeaderTemplates = option(
        "Headers and their templates. A header whose template has an empty result is omitted.", default=()
    )
    status: StatusTemplate = option("The status, or its template. The default is the page's usual status.", default="")
    path_span: Span | None = place_of("path")
    headers_span: Span | None = place_of("headers")
    status_span: Span | None = place_of("status")


@dataclass(frozen=True, slots=True)
class TargetPageOptions(PageOptions):
    """A page of a target, whose template may lie in its bucket."""

    in_bucket: bool = option(
        "Whether `path` is the key of an object in the target's bucket, prefix included.", default=False
    )


@dataclass(frozen=True, slots=True)
class HelperOptions:
    """A file of helper templates of a target."""

    shape: ClassVar[str] = "such as `{path: pages/helpers.tpl}`"

    path: TemplatePath = option("The file, relative to the configuration file.")
    in_bucket: bool = option(
        "Whether `path` is the key of an object in the target's bucket, prefix included.", default=False
    )
    path_span: Span | None = place_of("path")


_LIST, _MISSING = "The page of a directory.", "The page of a 404."
_UNAUTHORIZED, _FORBIDDEN = "The page of a 401.", "The page of a 403 or 409."
_BAD, _FAILED = "The page of a 400, 408, 413, 415 or 431.", "The page of a 500, 502, 503 or 504."
_PUT, _DELETE = "The answer to an upload.", "The answer to a deletion."


@dataclass(frozen=True, slots=True)
class Templates:
    """Custom pages for all targets."""

    helpers: tuple[TemplatePath, ...] = option(
        "Files of helper templates for pages and rules, relative to the configuration file.", default=()
    )
    folder_list: PageOptions | None = option(_LIST, default=None)
    target_list: PageOptions | None = option("The page of all targets.", default=None)
    not_found_error: PageOptions | None = option(_MISSING, default=None)
    unauthorized_error: PageOptions | None = option(_UNAUTHORIZED, default=None)
    forbidden_error: PageOptions | None = option(_FORBIDDEN, default=None)
    bad_request_error: PageOptions | None = option(_BAD, default=None)
    internal_server_error: PageOptions | None = option(_FAILED, default=None)
    put: PageOptions | None = option(_PUT, default=None)
    delete: PageOptions | None = option(_DELETE, default=None)
    helpers_span: Span | None = place_of("helpers")


@dataclass(frozen=True, slots=True)
class TargetTemplates:
    """Custom pages for a target, in place of those for all."""

    helpers: tuple[HelperOptions, ...] = option(
        "Files of helper templates, which replace those for all targets.", default=()
    )
    folder_list: TargetPageOptions | None = option(_LIST, default=None)
    not_found_error: TargetPageOptions | None = option(_MISSING, default=None)
    unauthorized_error: TargetPageOptions | None = option(_UNAUTHORIZED, default=None)
    forbidden_error: TargetPageOptions | None = option(_FORBIDDEN, default=None)
    bad_request_error: TargetPageOptions | None = option(_BAD, default=None)
    internal_server_error: TargetPageOptions | None = option(_FAILED, default=None)
    put: TargetPageOptions | None = option(_PUT, default=None)
    delete: TargetPageOptions | None = option(_DELETE, default=None)


@dataclass(frozen=True, slots=True)
class ArchiveOptions:
    """Directories as one file, which is made while it is sent."""

    shape: ClassVar[str] = "such as `{enabled: true, maxSize: 2GiB}`"

    enabled: bool = option("Whether `?format=zip` and `?format=tar` give a directory with all below it.", default=False)
    max_size: Annotated[int, Size(1)] = option("The most bytes of all files; more are answered with 403.", default=GIB)
    max_files: Annotated[int, Bounds(1, 100_000)] = option(
        "The most files and directories; they are listed before the answer begins.", default=10_000
    )


@dataclass(frozen=True, slots=True)
class ListingOptions:
    """What the listings of a target show."""

    shape: ClassVar[str] = "such as `{hidden: ['.*'], directoriesFirst: true}`"

    directories_first: bool = option(
        "Whether directories come before files, in HTML and in every form that a client sorts.", default=True
    )
    hidden: tuple[NamePattern, ...] = option(
        "Names that are left out of listings; `*` is any part of a name, `?` one character. A hidden file can still"
        " be requested: to protect it, use `resources`.",
        default=(),
    )
    readme: bool = option("Whether a README (Markdown or text) is shown below the list.", default=False)
    archive: ArchiveOptions = option("Directories as one file.", default=ArchiveOptions())


@dataclass(frozen=True, slots=True)
class ThemeOptions:
    """How the service's own pages look."""

    shape: ClassVar[str] = "such as `{title: Our files, css: brand.css}`"

    title: Line | None = option(
        "The name in the place of the mount's path, and behind each page's title.", default=None
    )
    logo: LogoPlace | None = option(
        "The picture beside it: a URL, or a file (SVG, PNG, JPEG, WebP or GIF) relative to the configuration file.",
        default=None,
    )
    css: SheetPlace | None = option(
        "A style sheet that is loaded after the service's own: a URL, or a file relative to the configuration file.",
        default=None,
    )
    templates: TemplatePath | None = option(
        "A directory, relative to the configuration file, of Jinja templates that replace the service's own.",
        default=None,
    )
    logo_span: Span | None = place_of("logo")
    css_span: Span | None = place_of("css")
    templates_span: Span | None = place_of("templates")


PAGES = tuple(each.name for each in fields(Templates) if each.name not in ("helpers", "helpers_span"))
"""The pages that a configuration can replace, by their attributes."""
