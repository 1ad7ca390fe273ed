"""Templates and themes are read, compiled and checked."""

import re
from pathlib import Path

import pytest
from configurations import MINIMAL, settings
from msgspec import structs

from tornado_proxy.pages.custom import FILE_HEADERS, CustomPage, PageData, Recipe
from tornado_proxy.pages.limits import LARGEST_TEMPLATE
from tornado_proxy.pages.loading import compile_pages, read_templates, template_places
from tornado_proxy.pages.render import Failure, Form, Pages
from tornado_proxy.rules.diagnostic import Severity
from tornado_proxy.rules.loading import Read, RuleFile
from tornado_proxy.semantics.request import Request


def _compile(text, **files):
    rule_files = tuple(RuleFile(f"etc/{name}.tpl", content.encode()) for name, content in files.items())
    return compile_pages(settings(text), Read(rule_files))


def _messages_with_places(loaded):
    return [(diagnostic.message, diagnostic.place) for diagnostic in loaded.diagnostics]


TARGET = "targets:\n  site:\n    bucket: {name: my-bucket}\n    templates:\n"


def test_template_places_are_the_configured_files():
    """Paths are relative to the configuration, each is listed once, and keys in buckets are left out."""
    text = (
        TARGET
        + "      put: {path: a.tpl}\n      delete: {path: b.tpl, inBucket: true}\n      helpers: [{path: c.tpl}]\n"
    )
    configured = settings(text + "templates: {helpers: [h.tpl], put: {path: a.tpl}, delete: {status: '204'}}\n")
    assert list(template_places(configured)) == [Path("etc/h.tpl"), Path("etc/a.tpl"), Path("etc/c.tpl")]


def test_unreadable_files_are_reported(tmp_path):
    pages = "put: {path: a}, delete: {path: b}, folderList: {path: c}, helpers: [a, d]"
    configured = settings(MINIMAL + f"templates: {{{pages}}}\n")
    configured = structs.replace(configured, directory=tmp_path)
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "b").write_bytes(b"x" * (LARGEST_TEMPLATE + 1))
    read = read_templates(configured)
    assert [file.data for file in read.files] == [b"x"]
    assert [diagnostic.code for diagnostic in read.diagnostics] == ["unreadable-file"] * 3
    assert [diagnostic.span.text for diagnostic in read.diagnostics] == ["d", "c", "b"]
    assert read_templates(None) == Read(())


def test_pages_are_compiled():
    """A target has its own page, or the general one, with its own helpers."""
    text = TARGET + "      put: {path: own.tpl}\n      helpers: [{path: h.tpl}]\n"
    text += "templates: {put: {path: all.tpl, status: '200'}, delete: {path: all.tpl}}\n"
    loaded = _compile(
        text, own="own", all="all{{ if false }}{{ template `h` . }}{{ end }}", h="{{ define `h` }}{{ end }}"
    )
    data = PageData(Request(), None)
    assert loaded.pages.find("site", "put").render(data).body == b"own"
    assert loaded.pages.find("site", "put").render(data).status == 200
    assert loaded.pages.find("site", "delete").render(data).body == b"all"
    # The general page does not have the helpers of the target.
    assert [message for message, _ in _messages_with_places(loaded)] == ["unknown template `h`"]


def test_a_mistake_is_reported_at_its_place():
    """The place is in the file of the page or the helper, or in the configuration for a header or a status."""
    text = MINIMAL + "templates:\n  helpers: [h.tpl]\n  put: {path: a.tpl}\n"
    assert _messages_with_places(_compile(text, a="x\n{{ y }}", h="")) == [("unknown function `y`", "etc/a.tpl:2:4")]
    reported = _messages_with_places(_compile(text, a="{{ template `a` }}", h="\n{{ define `a` }}{{ y }}{{ end }}"))
    assert reported == [("unknown function `y`", "etc/h.tpl:2:20")]
    text = MINIMAL + "templates:\n  put:\n    headers: {A: '{{ y }}'}\n  delete:\n    status: '{{ y }}'\n"
    assert _messages_with_places(_compile(text)) == [
        ("the header `A`: unknown function `y`", "config.yaml:4:5"),
        ("the status: unknown function `y`", "config.yaml:6:5"),
    ]


def test_a_field_that_only_some_renderings_read_is_a_warning():
    """A page that s3-proxy shares between kinds may read below a condition what one of them does not have."""
    page = '{{ if eq .Request.Method "PUT" }}{{ .Error.Error }}{{ end }}'
    loaded = _compile(MINIMAL + "templates: {folderList: {path: a.tpl}}\n", a=page)
    assert isinstance(loaded.pages.find(None, "folder_list"), CustomPage)
    assert _messages_with_places(loaded) == [("the data has no field `Error`", "etc/a.tpl:1:38")]
    assert [each.severity for each in loaded.diagnostics] == [Severity.WARNING]


def test_a_doubt_in_a_built_in_helper_is_shown_at_the_page():
    """The page calls a helper of s3-proxy that reads what only pages of errors have."""
    page = '{{ if eq .Request.Method "PUT" }}{{ template "main.body.errorJsonBody" . }}{{ end }}'
    loaded = _compile(MINIMAL + "templates: {folderList: {path: a.tpl}}\n", a=page)
    assert _messages_with_places(loaded) == [("the data has no field `Error`", "etc/a.tpl:1:1")]


def test_headers_of_files_are_compiled():
    """Headers of files are a page of their own, and a mistake is reported at the action."""
    text = "targets:\n  site:\n    bucket: {name: my-bucket}\n    actions: {GET: {config: {streamedFileHeaders: {A: '%s'}}}}\n"
    assert isinstance(_compile(text % "{{ .StreamFile.ETag }}").pages.find("site", FILE_HEADERS), CustomPage)
    assert _messages_with_places(_compile(text % "{{ y }}")) == [
        ("the header `A`: unknown function `y`", "config.yaml:4:21")
    ]


def test_pages_in_a_bucket_are_compiled_later():
    """Headers of pages in a bucket are checked at load, unless a helper is in the bucket."""
    text = TARGET + "      put: {path: p, inBucket: true, headers: {A: '{{ y }}'}}\n"
    loaded = _compile(text)
    assert isinstance(loaded.pages.find("site", "put"), Recipe)
    assert [message for message, _ in _messages_with_places(loaded)] == ["the header `A`: unknown function `y`"]
    assert not _compile(text + "      helpers: [{path: h, inBucket: true}]\n").diagnostics


def test_a_page_whose_file_is_missing_is_left_out():
    """A missing file was reported when it was read, so its page is left out."""
    assert _compile(MINIMAL + "templates: {put: {path: a.tpl}}\n").pages.find(None, "put") is None


def test_rules_can_use_helpers_in_files():
    """The helpers are those of the target, or else those for all targets."""
    text = (
        TARGET
        + "      helpers: [{path: own.tpl}, {path: k, inBucket: true}]\n  other: {mount: {path: /o}, bucket: {name: my-bucket}}\n"
    )
    loaded = _compile(text + "templates: {helpers: [all.tpl, gone.tpl]}\n", own="own", all="all")
    assert [loaded.helpers(name) for name in ("site", "other", "unknown")] == [("own",), ("all",), ("all",)]


@pytest.mark.parametrize("content", [b"\xff", b"a\0"])
def test_a_file_must_be_text(content):
    read = Read((RuleFile("etc/a.tpl", content),))
    loaded = compile_pages(settings(MINIMAL + "templates: {put: {path: a.tpl}}\n"), read)
    assert [diagnostic.code for diagnostic in loaded.diagnostics] == ["not-utf-8"]


def test_the_examples_of_the_docs_are_valid():
    """Every configuration in docs/pages.md is valid, and its pages compile."""
    text = (Path(__file__).parents[2] / "docs" / "pages.md").read_text(encoding="utf-8")
    examples = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 3
    (template,) = re.findall(r"```jinja\n(.*?)```", text, re.DOTALL)
    Pages(templates={"listing.html": template}).check()
    for example in examples:
        configured = settings(example)
        read = Read(tuple(RuleFile(str(path), b"") for path in template_places(configured)))
        assert compile_pages(configured, read).diagnostics == ()


WITH_THEME = "targets: {site: {bucket: {name: my-bucket}, pages: {%s}}}\n"


def _compile_theme(options, **files):
    rule_files = tuple(RuleFile(f"etc/{name.replace('__', '/')}", content) for name, content in files.items())
    return compile_pages(settings(WITH_THEME % options), Read(rule_files))


def test_files_of_themes_are_read_and_watched(tmp_path):
    """The files are a logo, a style sheet and the templates of a directory; URLs are not read."""
    configured = structs.replace(
        settings(WITH_THEME % "logo: a.png, css: 'https://css.example/x.css', templates: brand"), directory=tmp_path
    )
    (tmp_path / "brand").mkdir()
    for name, content in {
        "a.png": b"\0",
        "brand/listing.html": b"x",
        "brand/_b.html": b"y",
        "brand/notes": b"z",
    }.items():
        (tmp_path / name).write_bytes(content)
    assert list(template_places(configured)) == [tmp_path / "a.png", tmp_path / "brand"]
    assert [Path(file.name).name for file in read_templates(configured).files] == ["a.png", "_b.html", "listing.html"]
    missing = structs.replace(configured, directory=tmp_path / "nowhere")
    assert [diagnostic.span.text for diagnostic in read_templates(missing).diagnostics] == ["a.png", "brand"]


def test_a_theme_is_compiled_from_its_files():
    files = {"a.png": b"\x89PNG\0", "brand__failure.html": b"<p>{{ status }}</p>"}
    loaded = _compile_theme("title: T, logo: a.png, templates: brand", **files)
    assert loaded.diagnostics == ()
    assert list(loaded.pages.themed) == ["site"]
    rendering = loaded.pages.themed["site"].failure(Failure(404, "a", "id"), Form.HTML)
    assert rendering.body == b"<p>404</p>"


def test_a_theme_can_be_for_all_pages():
    """The files of a general theme are watched, and a target can have another theme."""
    configured = settings("pages: {title: All, css: all.css}\n" + WITH_THEME % "title: One")
    assert [path.name for path in template_places(configured)] == ["all.css"]
    loaded = compile_pages(configured, Read((RuleFile("etc/all.css", b"a{}"),)))
    renderings = {
        name: pages.failure(Failure(404, "a", "id"), Form.HTML) for name, pages in loaded.pages.themed.items()
    }
    assert {name: b"All" in rendering.body for name, rendering in renderings.items()} == {None: True, "site": False}


@pytest.mark.parametrize(
    ("name", "text", "message", "place"),
    [
        ("listing.html", b"a\n{% if %}", "Expected an expression, got 'end of statement block'", "etc/brand/listing.html:2:1"),
        (
            "listing.html",
            b'{% extends "default/listing.html" %}\n{% block below %}\n{{ missing }}{% endblock %}',
            "a page cannot be made of these templates: 'missing' is undefined",
            "etc/brand/listing.html:3:1",
        ),
        (
            "page.html",
            b"{{ theme.missing() }}",
            "a page cannot be made of these templates: 'tornado_proxy.pages.render.Pages object' has no attribute 'missing'",
            "etc/brand/page.html:1:1",
        ),
        ("index.html", b"", "no page is called `index.html`", "config.yaml:1:"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_theme_is_reported_at_load(name, text, message, place):
    """The place is in the template if it is known, and otherwise at the option with the directory."""
    loaded = _compile_theme("templates: brand", **{f"brand__{name}": text})
    assert [diagnostic.message for diagnostic in loaded.diagnostics] == [message]
    assert loaded.diagnostics[0].place.startswith(place)
    assert loaded.pages.themed == {}


def test_a_theme_without_its_file_is_left_out():
    """A missing file was reported when it was read, so its theme is left out."""
    assert _compile_theme("css: a.css").pages.themed == {}
