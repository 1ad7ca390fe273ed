from conversions import made, target

from tornado_proxy.lang.source import SourceFile
from tornado_proxy.tools.convert.conversion import convert
from tornado_proxy.tools.convert.default_pages import DEFAULT_PAGES
from tornado_proxy.tools.convert.files import together
from tornado_proxy.tools.convert.report import OptionOutcome

TARGETS = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"
LOST = (OptionOutcome.LEFT_OUT, OptionOutcome.CLOSED)


def test_pages_for_all_targets():
    """Options have the same names; a status that a page has anyway is left out."""
    text = "templates: {folderList: {path: templates/not-found-error.tpl, headers: {A: b}, status: 404}, put: {path: p.tpl}}"
    found = made(TARGETS + text)
    assert found.document["templates"] == {
        "folderList": {"path": "templates/not-found-error.tpl", "headers": {"a": "b"}, "status": "404"},
        "put": {"path": "p.tpl", "status": "204"},
    }
    assert found.files["templates/not-found-error.tpl"] == DEFAULT_PAGES["templates/not-found-error.tpl"]
    assert found.messages(*LOST) == []
    (message,) = [each for each in found.messages(OptionOutcome.CHANGED) if "p.tpl" in each]
    assert message == "the template `p.tpl` is not here to be copied; `p.tpl` is read, beside the configuration"


def test_pages_of_a_target():
    """In files and in the bucket, helpers too."""
    text = "templates:\n  helpers: [{path: templates/_helpers.tpl}, {path: h, inBucket: true}]\n"
    text += "  notFoundError: {path: t, inBucket: true, status: '404'}\n"
    found = target(text)
    assert found.document["targets"]["site"]["templates"] == {
        "helpers": [{"path": "h", "inBucket": True}],
        "notFoundError": {"path": "t", "inBucket": True},
    }
    assert found.messages(*LOST) == []


def test_files_at_hand_are_copied():
    """Under their relative paths, which lead out of no directory; absolute ones stay where they are."""
    text = "templates: {helpers: [../h.tpl], put: {path: ./a/p.tpl}, delete: {path: /etc/d.tpl}}\n"
    done = convert(together([SourceFile("a.yaml", TARGETS + text)]), read_file=lambda path: f"text of {path}")
    assert {name: text for name, text in done.files.items() if name.endswith(".tpl")} == {
        "templates/h.tpl": "text of ../h.tpl",
        "a/p.tpl": "text of ./a/p.tpl",
    }


def test_a_template_that_does_not_compile_is_told():
    """It is copied all the same."""
    text = "templates: {put: {path: p.tpl}}\n"
    done = convert(together([SourceFile("a.yaml", TARGETS + text)]), read_file=lambda _: "{{ x }}")
    told = [each.message for each in done.report.of(OptionOutcome.CHANGED)]
    assert "the template `p.tpl` has to be changed: unknown function `x`" in told


def test_headers_of_files():
    """Those that the server sets itself are left out."""
    found = target("actions: {GET: {enabled: true, config: {streamedFileHeaders: {A: b, Content-Length: '1'}}}}")
    assert found.document["targets"]["site"]["actions"]["GET"]["config"] == {"streamedFileHeaders": {"a": "b"}}
    assert found.subjects(OptionOutcome.LEFT_OUT) == [
        "targets.site.actions.GET.config.streamedFileHeaders.content-length"
    ]
