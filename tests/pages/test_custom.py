import pytest

from tornado_proxy.pages.custom import (
    BucketKey,
    CustomPage,
    CustomPageMistake,
    CustomPages,
    CustomRendering,
    ErrorData,
    PageData,
    PageError,
    Recipe,
)
from tornado_proxy.routing.request import Request
from tornado_proxy.templates.template import LimitError, RenderError, RequestData, User

JSON = RequestData(headers=(("Accept", "application/json"),))
TYPE = ("Content-Type", "text/html; charset=utf-8")


def _rendered(recipe, request=None, user=None):
    return recipe.compiled().render(ErrorData(request or RequestData(), user, PageError("no")))


def test_a_page_writes_body_headers_and_status():
    """Each is a template with the same data; line ends and outer spaces of headers and statuses are removed."""
    headers = (("X-User", "{{ .User.GetIdentifier }}\n"), ("Content-Type", "text/x"))
    recipe = Recipe("put", "<{{ .Request.Method }}>", headers, "\n{{ 200 | add 1 }} ")
    found = _rendered(recipe, RequestData("PUT"), User("ann"))
    assert found == CustomRendering(b"<PUT>", (("X-User", "ann"), ("Content-Type", "text/x")), 201)


def test_a_body_has_a_type_by_accept():
    """Without a type of its own, a page is HTML, or JSON for clients that prefer it."""
    assert _rendered(Recipe("put", "x")).headers == (TYPE,)
    assert _rendered(Recipe("put", "x"), JSON).headers == (("Content-Type", "application/json; charset=utf-8"),)
    assert _rendered(Recipe("put", "x", (("content-type", "a/b"),))).headers == (("content-type", "a/b"),)
    assert _rendered(Recipe("put", None, (("X-A", ""),))) == CustomRendering(None, (("X-A", ""),), None)


def test_helpers_can_be_called_everywhere():
    """Helpers of a file and the built-in ones work in bodies and headers."""
    helpers = ('{{ define "one" }}1{{ end }}',)
    body = '{{ template "one" . }}{{ template "main.body.errorJsonBody" . }}'
    found = _rendered(Recipe("put", body, (("A", '{{ template "one" . }}'),), "", helpers))
    assert (found.body, found.headers[-1]) == (b'1{"error": "no"}', ("A", "1"))


def test_links_have_the_port_that_was_asked():
    """Rules compare hosts without their port, but links need the port."""
    request = Request("GET", "files.test", "/a", authority="files.test:8080", headers=())
    assert _rendered(Recipe("put", "{{ requestURI .Request }}"), request).body == b"http://files.test:8080/a"


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (Recipe("put", "x", (("A", "a\x01"),)), "the template of the header `A` writes a control character"),
        (Recipe("put", "x", (), "{{ 99 }}"), "writes `99` instead of a status from 200 to 599"),
        (Recipe("put", "{{ .Entries }}"), "Entries"),
    ],
)
def test_what_no_answer_can_have_fails(recipe, message):
    """A control character or a wrong status is a `RenderError`."""
    with pytest.raises(RenderError, match=message):
        _rendered(recipe)


def test_headers_have_less_room_than_bodies():
    """The limits of a header are smaller than those of a page."""
    many = "{{ range 100000 }}x{{ end }}"
    with pytest.raises(LimitError):
        _rendered(Recipe("put", None, (("A", many),)))


def test_values_that_are_not_ascii_are_sent_as_utf_8():
    """Headers contain bytes."""
    assert _rendered(Recipe("put", None, (("A", "é"),))).headers == (("A", "é".encode().decode("latin-1")),)


@pytest.mark.parametrize(
    ("recipe", "part"),
    [
        (Recipe("put", "{{ x }}"), "path"),
        (Recipe("put", "x", (("A", "{{ x }}"),)), "A"),
        (Recipe("put", "x", (), "{{ x }}"), "status"),
        (Recipe("put", '{{ template "a" . }}', (), "", ("", '{{ define "a" }}{{ x }}{{ end }}')), 1),
    ],
)
def test_a_mistake_says_which_part_has_it(recipe, part):
    """The part is the body, a header, the status, or the number of a helper."""
    with pytest.raises(CustomPageMistake) as caught:
        recipe.compiled()
    assert caught.value.part == part


def test_templates_in_a_bucket_are_compiled_from_their_texts():
    """A recipe names the keys that it needs."""
    recipe = Recipe("put", BucketKey("p"), (), "", (BucketKey("h"),))
    assert recipe.keys == ("h", "p")
    page = recipe.compiled({"p": '{{ template "a" }}', "h": '{{ define "a" }}b{{ end }}'})
    assert page.render(PageData(RequestData(), None)).body == b"b"


def test_the_page_of_a_target_takes_the_place_of_the_general_one():
    """A target without its own page has the page for all."""
    general, own = (CustomPage("put", None, (), None), CustomPage("put", None, (("A", None),), None))
    pages = CustomPages({(None, "put"): general, ("site", "put"): own})
    assert [pages.find(name, "put") for name in ("site", "other", None)] == [own, general, general]
    assert pages.find("site", "delete") is None
