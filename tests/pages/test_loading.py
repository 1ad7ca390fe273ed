import re
from dataclasses import replace
from pathlib import Path

import pytest
from configurations import MINIMAL, settings

from tornado_proxy.pages.custom import FILE_HEADERS, CustomPage, PageData, Recipe
from tornado_proxy.pages.loading import LARGEST, compile_pages, read_templates, template_places
from tornado_proxy.pages.render import Failure, Form, Pages, Theme
from tornado_proxy.rules.loading import Read, RuleFile
from tornado_proxy.templates.template import RequestData


def _loaded(text, **files):
    kept = tuple(RuleFile(f"etc/{name}.tpl", content.encode()) for name, content in files.items())
    return compile_pages(settings(text), Read(kept))


def _reported(loaded):
    return [(each.message, each.place) for each in loaded.diagnostics]


TARGET = "targets:\n  site:\n    bucket: {name: my-bucket}\n    templates:\n"


def test_the_files_are_those_that_the_configuration_names():
    """They are relative to it, each once, without the keys in buckets."""
    text = (
        TARGET
        + "      put: {path: a.tpl}\n      delete: {path: b.tpl, inBucket: true}\n      helpers: [{path: c.tpl}]\n"
    )
    found = settings(text + "templates: {helpers: [h.tpl], put: {path: a.tpl}, delete: {status: '204'}}\n")
    assert list(template_places(found)) == [Path("etc/h.tpl"), Path("etc/a.tpl"), Path("etc/c.tpl")]


def test_files_are_read(tmp_path):
    """A file that cannot be read, or is too large, is reported at the place that names it."""
    found = settings(MINIMAL + "templates: {put: {path: a}, delete: {path: b}, folderList: {path: c}}\n")
    found = replace(found, directory=tmp_path)
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "b").write_bytes(b"x" * (LARGEST + 1))
    read = read_templates(found)
    assert [file.data for file in read.files] == [b"x"]
    assert [each.code for each in read.diagnostics] == ["unreadable-file"] * 2
    assert [each.span.text for each in read.diagnostics] == ["path", "path"]
    assert read_templates(None) == Read(())


def test_pages_are_compiled():
    """A target has its own page, or the general one, with its helpers."""
    text = TARGET + "      put: {path: own.tpl}\n      helpers: [{path: h.tpl}]\n"
    text += "templates: {put: {path: all.tpl, status: '200'}, delete: {path: all.tpl}}\n"
    loaded = _loaded(
        text, own="own", all="all{{ if false }}{{ template `h` . }}{{ end }}", h="{{ define `h` }}{{ end }}"
    )
    data = PageData(RequestData(), None)
    assert loaded.pages.find("site", "put").render(data).body == b"own"
    assert loaded.pages.find("site", "put").render(data).status == 200
    assert loaded.pages.find("site", "delete").render(data).body == b"all"
    # For all targets together, there is no such helper.
    assert [message for message, _ in _reported(loaded)] == ["unknown template `h`"]


def test_a_mistake_is_reported_at_its_place():
    """The place is in the file of the page or the helper, or in the configuration for a header or the status."""
    text = MINIMAL + "templates:\n  helpers: [h.tpl]\n  put: {path: a.tpl}\n"
    assert _reported(_loaded(text, a="x\n{{ y }}", h="")) == [("unknown function `y`", "etc/a.tpl:2:4")]
    found = _reported(_loaded(text, a="{{ template `a` }}", h="\n{{ define `a` }}{{ y }}{{ end }}"))
    assert found == [("unknown function `y`", "etc/h.tpl:2:20")]
    text = MINIMAL + "templates:\n  put:\n    headers: {A: '{{ y }}'}\n  delete:\n    status: '{{ y }}'\n"
    assert _reported(_loaded(text)) == [
        ("the header `A`: unknown function `y`", "config.yaml:4:5"),
        ("the status: unknown function `y`", "config.yaml:6:5"),
    ]


def test_headers_of_files():
    """They are a page of their own kind; a mistake is reported at the action."""
    text = "targets:\n  site:\n    bucket: {name: my-bucket}\n    actions: {GET: {config: {streamedFileHeaders: {A: '%s'}}}}\n"
    assert isinstance(_loaded(text % "{{ .StreamFile.ETag }}").pages.find("site", FILE_HEADERS), CustomPage)
    assert _reported(_loaded(text % "{{ y }}")) == [("the header `A`: unknown function `y`", "config.yaml:4:21")]


def test_pages_in_a_bucket_wait_for_their_texts():
    """Their headers are checked at load unless a helper is in the bucket."""
    text = TARGET + "      put: {path: p, inBucket: true, headers: {A: '{{ y }}'}}\n"
    loaded = _loaded(text)
    assert isinstance(loaded.pages.find("site", "put"), Recipe)
    assert [message for message, _ in _reported(loaded)] == ["the header `A`: unknown function `y`"]
    assert not _loaded(text + "      helpers: [{path: h, inBucket: true}]\n").diagnostics


def test_a_page_whose_file_is_missing_is_left_out():
    """Reading has reported the file."""
    assert _loaded(MINIMAL + "templates: {put: {path: a.tpl}}\n").pages.find(None, "put") is None


def test_rules_see_the_helpers_in_files():
    """They are those of the target, or else those for all."""
    text = (
        TARGET
        + "      helpers: [{path: own.tpl}, {path: k, inBucket: true}]\n  other: {mount: {path: /o}, bucket: {name: my-bucket}}\n"
    )
    loaded = _loaded(text + "templates: {helpers: [all.tpl, gone.tpl]}\n", own="own", all="all")
    assert [loaded.helpers(name) for name in ("site", "other", "unknown")] == [("own",), ("all",), ("all",)]


@pytest.mark.parametrize("content", [b"\xff", b"a\0"])
def test_a_file_is_text(content):
    """A file that is not UTF-8 is reported."""
    read = Read((RuleFile("etc/a.tpl", content),))
    loaded = compile_pages(settings(MINIMAL + "templates: {put: {path: a.tpl}}\n"), read)
    assert [each.code for each in loaded.diagnostics] == ["not-utf-8"]


def test_the_examples_of_the_docs():
    """Each configuration in docs/pages.md is valid, and its pages compile."""
    text = (Path(__file__).parents[2] / "docs" / "pages.md").read_text(encoding="utf-8")
    examples = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 4
    (template,) = re.findall(r"```jinja\n(.*?)```", text, re.DOTALL)
    Pages(Theme(templates={"listing.html": template})).check()
    for example in examples:
        found = settings(example)
        read = Read(tuple(RuleFile(str(path), b"") for path in template_places(found)))
        assert compile_pages(found, read).diagnostics == ()


THEMED = "targets: {site: {bucket: {name: my-bucket}, pages: {%s}}}\n"


def _theme(options, **files):
    kept = tuple(RuleFile(f"etc/{name.replace('__', '/')}", content) for name, content in files.items())
    return compile_pages(settings(THEMED % options), Read(kept))


def test_files_of_themes_are_read_and_watched(tmp_path):
    """They are a logo, a sheet, and all templates of a directory; browsers load URLs themselves."""
    found = replace(
        settings(THEMED % "logo: a.png, css: 'https://css.example/x.css', templates: brand"), directory=tmp_path
    )
    (tmp_path / "brand").mkdir()
    for name, content in {
        "a.png": b"\0",
        "brand/listing.html": b"x",
        "brand/_b.html": b"y",
        "brand/notes": b"z",
    }.items():
        (tmp_path / name).write_bytes(content)
    assert list(template_places(found)) == [tmp_path / "a.png", tmp_path / "brand"]
    assert [Path(file.name).name for file in read_templates(found).files] == ["a.png", "_b.html", "listing.html"]
    gone = replace(found, directory=tmp_path / "nowhere")
    assert [each.span.text for each in read_templates(gone).diagnostics] == ["logo", "templates"]


def test_a_theme_is_made_of_its_files():
    """The target's pages have it; other targets have none."""
    files = {"a.png": b"\x89PNG\0", "brand__failure.html": b"<p>{{ status }}</p>"}
    loaded = _theme("title: T, logo: a.png, templates: brand", **files)
    assert loaded.diagnostics == ()
    assert list(loaded.pages.themed) == ["site"]
    rendering = loaded.pages.themed["site"].failure(Failure(404, "a", "id"), Form.HTML)
    assert rendering.body == b"<p>404</p>"


def test_a_theme_for_all_pages_is_read_as_that_of_a_target():
    """Its files are watched, and a target may have another."""
    found = settings("pages: {title: All, css: all.css}\n" + THEMED % "title: One")
    assert [path.name for path in template_places(found)] == ["all.css"]
    loaded = compile_pages(found, Read((RuleFile("etc/all.css", b"a{}"),)))
    titles = {name: pages.failure(Failure(404, "a", "id"), Form.HTML) for name, pages in loaded.pages.themed.items()}
    assert {name: b"All" in rendering.body for name, rendering in titles.items()} == {None: True, "site": False}


@pytest.mark.parametrize(
    ("name", "text", "message", "place"),
    [
        (
            "listing.html",
            b"a\n{% if %}",
            "Expected an expression, got 'end of statement block'",
            "etc/brand/listing.html:2:1",
        ),
        (
            "listing.html",
            b"{{ missing }}",
            "a page cannot be made of these templates: 'missing' is undefined",
            "config.yaml:1:",
        ),
        ("index.html", b"", "no page is called `index.html`", "config.yaml:1:"),
    ],
)
def test_a_mistake_in_a_theme_is_reported_at_load(name, text, message, place):
    """The place is in the template if it is known, else where the configuration names the directory."""
    loaded = _theme("templates: brand", **{f"brand__{name}": text})
    assert [each.message for each in loaded.diagnostics] == [message]
    assert loaded.diagnostics[0].place.startswith(place)
    assert loaded.pages.themed == {}


def test_a_theme_without_its_file_is_left_out():
    """Reading has reported the file."""
    assert _theme("css: a.css").pages.themed == {}
