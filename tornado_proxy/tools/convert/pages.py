"""Converts templates of pages, and stands in for s3-proxy's default files where these are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from types import MappingProxyType

from tornado_proxy.config import values
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.templates.golang.pages import compile_page
from tornado_proxy.templates.golang.program import built_in
from tornado_proxy.templates.template import TemplateMistake
from tornado_proxy.tools.convert.options import OptionOutcome, Section, refusal
from tornado_proxy.tools.convert.output import Setting

HELPERS = "templates/_helpers.tpl"

_JSON = '{{- if contains "application/json" (.Request.Header.Get "Accept") -}}\n'
_ELSE = "{{- else -}}\n<!DOCTYPE html>\n<html>\n"
_END = "</html>\n{{- end -}}\n"


def _error(title: str, text: str) -> str:
    head = f"<head><title>{title}</title></head>\n"
    return f'{_JSON}{{{{ template "main.body.errorJsonBody" . }}}}\n{_ELSE}{head}<body>{text}</body>\n{_END}'


def _told(title: str) -> str:
    return _error(title, f"<h1>{title}</h1>\n<p>{{{{ .Error.Error | html }}}}</p>")


_FOLDER_LIST = (
    _JSON
    + "[{{ range $number, $entry := .Entries }}{{ if $number }},{{ end -}}\n"
    + '{"name": {{ toJson .Name }}, "etag": {{ toJson .ETag }}, "type": {{ toJson .Type }}, "size": {{ .Size }},'
    + ' "path": {{ toJson .Path }}, "lastModified": {{ .LastModified | date "2006-01-02T15:04:05Z07:00" | toJson }}}\n'
    + "{{- end }}]\n"
    + _ELSE
    + "<head><title>Index of {{ .Request.URL.Path | html }}</title></head>\n"
    + "<body>\n<h1>Index of {{ .Request.URL.Path | html }}</h1>\n<table>\n"
    + "<tr><th>Entry</th><th>Size</th><th>Last modified</th></tr>\n"
    + '<tr><td><a href="..">..</a></td><td>-</td><td>-</td></tr>\n'
    + '{{ range .Entries }}<tr><td><a href="{{ .Path | html }}">{{ .Name | html }}</a></td>'
    + '<td>{{ if eq .Type "FOLDER" }}-{{ else }}{{ humanSize .Size }}{{ end }}</td><td>{{ .LastModified }}</td></tr>\n'
    + "{{ end }}</table>\n</body>\n"
    + _END
)
_LINK = '{{ printf "%s://%s%s" (requestScheme $.Request) (default (requestHost $.Request) $target.Mount.Host) . '
_TARGET_LIST = (
    _JSON
    + "[{{ $more := false }}{{ range $name, $target := .Targets }}{{ if $more }},{{ end }}{{ $more = true -}}\n"
    + '{"name": {{ toJson $name }}, "links": [{{ range $number, $path := $target.Mount.Path }}'
    + "{{ if $number }},{{ end }}"
    + _LINK
    + "| toJson }}{{ end }}]}\n{{- end }}]\n"
    + _ELSE
    + "<head><title>Targets</title></head>\n<body>\n<h1>Target buckets list</h1>\n<ul>\n"
    + "{{ range $name, $target := .Targets }}<li>{{ $name | html }}: <ul>"
    + "{{ range $target.Mount.Path }}{{ $link := "
    + _LINK.removeprefix("{{ ")
    + '| html }}<li><a href="{{ $link }}">{{ $link }}</a></li>{{ end }}</ul></li>\n'
    + "{{ end }}</ul>\n</body>\n"
    + _END
)

DEFAULT_PAGES: Mapping[str, str] = MappingProxyType(
    {
        "templates/folder-list.tpl": _FOLDER_LIST,
        "templates/target-list.tpl": _TARGET_LIST,
        "templates/not-found-error.tpl": _error("Not Found", "<h1>Not Found {{ .Request.URL.Path | html }}</h1>"),
        "templates/unauthorized-error.tpl": _told("Unauthorized"),
        "templates/forbidden-error.tpl": _told("Forbidden"),
        "templates/bad-request-error.tpl": _told("Bad Request"),
        "templates/internal-server-error.tpl": _told("Internal Server Error"),
        "templates/put.tpl": "",
        "templates/delete.tpl": "",
    }
)
"""The texts by the default paths of s3-proxy's configuration."""


ReadFile = Callable[[str], str | None]
"""Reads a file that s3-proxy's configuration names; None where it is not at hand."""

# The default status of a page, there and here.
_STATUSES = {
    "folderList": "200",
    "targetList": "200",
    "notFoundError": "404",
    "unauthorizedError": "401",
    "forbiddenError": "403",
    "badRequestError": "400",
    "internalServerError": "500",
    "put": "",
    "delete": "",
}


def no_file(_path: str) -> str | None:
    """Where no file is at hand."""
    return None


@dataclass
class PageConversion:
    """What is carried over of pages: the files to write, and what helpers rewrites may call."""

    read: ReadFile = no_file
    files: dict[str, str] = field(default_factory=dict)
    helpers: tuple[str, ...] = ()  # texts of those for all targets

    def general(self, section: Section | None) -> Mapping[str, Setting]:
        """The option `templates`."""
        names = [each.value for each in section.texts("helpers")] if section and "helpers" in section else [HELPERS]
        places = [place for name in names if (place := self._helper(name, section))]
        self.helpers = tuple(self.files[place] for place in places if place in self.files)
        settings: dict[str, Setting] = {"helpers": places} if places else {}
        settings.update(self._pages(section))
        if section and settings:
            section.remark(OptionOutcome.CARRIED, "", "as `templates`")
        return settings

    def of_target(self, section: Section | None) -> tuple[Mapping[str, Setting], tuple[str, ...]]:
        """The option `templates` of a target, and the texts of the helpers that its rewrites may call."""
        settings: dict[str, Setting] = {}
        texts = self.helpers
        given = section.sections("helpers") if section else []
        helpers: list[Setting] = []
        for each in given:
            path = each.text("path")
            if each.flag("inBucket"):
                helpers.append({"path": path, "inBucket": True})
            elif place := self._helper(path, each):
                helpers.append({"path": place})
        if given:
            named = [each["path"] for each in helpers if isinstance(each, Mapping)]
            texts = tuple(self.files[place] for place in named if isinstance(place, str) and place in self.files)
        if helpers:
            settings["helpers"] = helpers
        settings.update(self._pages(section, path_needed=True))
        if section and settings:
            section.remark(OptionOutcome.CARRIED, "", "as `templates` of the target")
        return settings, texts

    def headers(self, section: Section) -> Mapping[str, Setting]:
        """Header names and their templates, as far as they can be sent."""
        done: dict[str, Setting] = {}
        for name, text in section.pairs().items():
            try:
                values.header_templates(((name, text),))
                done[name] = text
            except InvalidValue as misfit:
                message = f"the header `{name}` {misfit.message.removeprefix('cannot have ')} is not carried over"
                place = section.place(name)
                section.remark(OptionOutcome.LEFT_OUT, name, message, misfit.help, place=place)
        return done

    def _pages(self, section: Section | None, *, path_needed: bool = False) -> Iterator[tuple[str, Setting]]:
        for kind in _STATUSES:
            page = section.section(kind) if section else None
            if page is not None and path_needed and not page.text("path"):
                raise refusal(page.span, f"`{page.path}` has no `path`")
            if page is not None and (settings := self._page(kind, page)):
                yield kind, settings

    def _page(self, kind: str, section: Section) -> Mapping[str, Setting]:
        settings: dict[str, Setting] = {}
        path, in_bucket = section.text("path"), section.flag("inBucket")
        if path:
            settings["path"] = path if in_bucket else self._file(path, section)
        if in_bucket:
            settings["inBucket"] = True
        headers = section.section("headers")
        if headers is not None and (found := self.headers(headers)):
            settings["headers"] = found
        status = section.text("status").strip()
        if kind in ("put", "delete"):
            status = status or "204"
        if status and status != _STATUSES[kind]:
            settings["status"] = status
        return settings

    def _helper(self, path: str, section: Section | None) -> str | None:
        """The place of a file of helpers; None for s3-proxy's own, whose helpers are built in."""
        if path == HELPERS and self.read(path) is None:
            return None
        return self._file(path, section)

    def _file(self, path: str, section: Section | None) -> str:
        """Where a template is from now on; its text is written there if it is at hand."""
        text = self.read(path)
        if text is None:
            text = DEFAULT_PAGES.get(path)
        parts = PurePosixPath(path)
        place = f"templates/{parts.name}" if ".." in parts.parts else path.removeprefix("./")
        if text is None:
            if section is not None:
                message = f"the template `{path}` is not here to be copied; `{place}` is read, beside the configuration"
                section.remark(OptionOutcome.CHANGED, "path", message)
        elif not parts.is_absolute():
            self.files[place] = text
            self._check(path, text, section)
        return place

    def _check(self, path: str, text: str, section: Section | None) -> None:
        try:
            compile_page(text, (built_in([*self.helpers, text]), *self.helpers))
        except TemplateMistake as mistake:
            if section is not None and "unknown template" not in str(mistake):
                message = f"the template `{path}` has to be changed: {mistake}"
                section.remark(OptionOutcome.CHANGED, "path", message)
