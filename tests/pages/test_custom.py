"""Custom pages are compiled and rendered."""

import pytest

from gotemplate.template.errors import LimitError, RenderError
from tornado_proxy.pages.custom import (
    FILE_HEADERS,
    BucketKey,
    ControlCharacter,
    CustomPage,
    CustomPages,
    CustomRendering,
    ErrorData,
    PageData,
    PageError,
    Recipe,
)
from tornado_proxy.semantics.request import Request, User
from tornado_proxy.templates.go import PageMistake

JSON = Request(headers=(("Accept", "application/json"),))
HTML_TYPE = ("Content-Type", "text/html; charset=utf-8")


def _render(recipe, request=None, user=None):
    return recipe.compiled().render(ErrorData(request or Request(), user, PageError("no")))


def test_a_page_writes_body_headers_and_status():
    headers = (("X-User", "{{ .User.GetIdentifier }}\n"), ("Content-Type", "text/x"))
    recipe = Recipe("put", "<{{ .Request.Method }}>", headers, "\n{{ 200 | add 1 }} ")
    rendering = _render(recipe, Request("PUT"), User("ann"))
    assert rendering == CustomRendering(b"<PUT>", (("X-User", "ann"), ("Content-Type", "text/x")), 201)


def test_the_default_type_depends_on_accept():
    """Without a type of its own, a page is HTML, or JSON for clients that prefer JSON."""
    assert _render(Recipe("put", "x")).headers == (HTML_TYPE,)
    assert _render(Recipe("put", "x"), JSON).headers == (("Content-Type", "application/json; charset=utf-8"),)
    assert _render(Recipe("put", "x", (("content-type", "a/b"),))).headers == (("content-type", "a/b"),)
    assert _render(Recipe("put", None, (("X-A", ""),))) == CustomRendering(None, (("X-A", ""),), None)


def test_helpers_can_be_called_in_bodies_and_headers():
    helpers = ('{{ define "one" }}1{{ end }}',)
    body = '{{ template "one" . }}{{ template "main.body.errorJsonBody" . }}'
    rendering = _render(Recipe("not_found_error", body, (("A", '{{ template "one" . }}'),), "", helpers))
    assert (rendering.body, rendering.headers[-1]) == (b'1{"error": "no"}', ("A", "1"))


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (Recipe("put", "x", (), "{{ 99 }}"), "writes `99` instead of a status from 200 to 599"),
        (Recipe("put", "{{ index .Request.Header.Accept 1 }}"), "index"),
    ],
)
def test_an_invalid_rendering_fails(recipe, message):
    with pytest.raises(RenderError, match=message):
        _render(recipe)


def test_a_control_character_in_a_header_is_the_mistake_of_the_client():
    """The templates of headers have it from the request."""
    with pytest.raises(ControlCharacter, match="the template of the header `A` writes a control character"):
        _render(Recipe("put", "x", (("A", "a\x01"),)))


def test_headers_have_smaller_limits_than_bodies():
    long_value = "{{ range 100000 }}x{{ end }}"
    with pytest.raises(LimitError):
        _render(Recipe("put", None, (("A", long_value),)))


def test_headers_are_utf_8():
    assert _render(Recipe("put", None, (("A", "é"),))).headers == (("A", "é".encode().decode("latin-1")),)


@pytest.mark.parametrize(
    ("recipe", "part"),
    [
        (Recipe("put", "{{ x }}"), "path"),
        (Recipe("put", "x", (("A", "{{ x }}"),)), "A"),
        (Recipe("put", "x", (), "{{ x }}"), "status"),
        (Recipe("put", '{{ template "a" . }}', (), "", ("", '{{ define "a" }}{{ x }}{{ end }}')), 1),
    ],
)
def test_a_mistake_names_its_part(recipe, part):
    """The part is the body, a header, the status, or the number of a helper."""
    with pytest.raises(PageMistake) as error:
        recipe.compiled()
    assert error.value.part == part


def test_templates_in_a_bucket_are_compiled_from_texts():
    recipe = Recipe("put", BucketKey("p"), (), "", (BucketKey("h"),))
    assert recipe.keys == ("h", "p")
    page = recipe.compiled({"p": '{{ template "a" }}', "h": '{{ define "a" }}b{{ end }}'})
    assert page.render(PageData(Request(), None)).body == b"b"


def test_the_page_of_a_target_replaces_the_general_one():
    general, own = (CustomPage("put", None, (), None), CustomPage("put", None, (("A", None),), None))
    pages = CustomPages({(None, "put"): general, ("site", "put"): own})
    assert [pages.find(name, "put") for name in ("site", "other", None)] == [own, general, general]
    assert pages.find("site", "delete") is None


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("put", "{{ .Request.Body }}", "`Request` has no field `Body`"),
        ("put", "{{ .Error }}", "the data has no field `Error`"),
        ("delete", "{{ .DeleteData.Name }}", "`DeleteData` has no field `Name`"),
        ("not_found_error", "{{ .Error.Code }}", "`Error` has no field `Code`"),
        ("folder_list", "{{ range .Entries }}{{ .Sise }}{{ end }}", "`FolderEntry` has no field `Sise`"),
        ("folder_list", "{{ range $i, $e := .Entries }}{{ $e.Sise }}{{ end }}", "`FolderEntry` has no field `Sise`"),
        ("folder_list", "{{ (first .Entries).Sise }}", "`FolderEntry` has no field `Sise`"),
        ("target_list", "{{ .Targets.site.Key }}", "`site` has no field `Key`"),
        ("target_list", "{{ range .Targets }}{{ .Actions.GET.Config }}{{ end }}", "`GET` has no field `Config`"),
        (FILE_HEADERS, "{{ .StreamFile.Nope }}", "`StreamFile` has no field `Nope`"),
        (FILE_HEADERS, "{{ .StreamFile.LastModified.Zone }}", "`LastModified` has no field `Zone`"),
        (FILE_HEADERS, "{{ with .StreamFile }}{{ .Metadata.x.y }}{{ end }}", "`x` has no fields"),
    ],
)
def test_a_field_that_the_data_does_not_have_is_refused(kind, text, message):
    """The data have types, so a page that would fail for every request is refused, with the place of the field."""
    for recipe in (Recipe(kind, text), Recipe(kind, None, (("X-A", text),)), Recipe(kind, None, (), text)):
        with pytest.raises(PageMistake) as caught:
            recipe.compiled()
        mistake = caught.value
        assert str(caught.value) == message
        assert text[mistake.offset : mistake.end] == message.split("`")[-2] or message.endswith("no fields")


def test_a_field_in_a_helper_is_refused_where_the_helper_reads_it():
    """A helper is checked with the data of each call, and a mistake in it has its number and place."""
    helpers = ('{{ define "a" }}{{ .Error }}{{ end }}',)
    Recipe("not_found_error", '{{ template "a" . }}', (), "", helpers).compiled()
    Recipe("put", "{{ .Request.Method }}", (), "", helpers).compiled()
    with pytest.raises(PageMistake) as caught:
        Recipe("put", '{{ include "a" . }}', (), "", helpers).compiled()
    assert (caught.value.part, caught.value.offset) == (0, helpers[0].index("Error"))
