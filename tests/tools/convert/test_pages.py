import json
from datetime import UTC, datetime

import pytest
from conversions import made, target

from tornado_proxy.lang.diagnostic import SourceFile
from tornado_proxy.pages.custom import (
    DeleteData,
    DeletePageData,
    ErrorData,
    FolderEntry,
    FolderListData,
    PageError,
    Recipe,
    TargetListData,
)
from tornado_proxy.templates.template import RequestData, TargetData
from tornado_proxy.tools.convert.conversion import convert, together
from tornado_proxy.tools.convert.options import OptionOutcome
from tornado_proxy.tools.convert.pages import DEFAULT_PAGES

HTML = RequestData(host="files.test", path="/a/<b>")
JSON = RequestData(host="files.test", path="/a/<b>", headers=(("Accept", "application/json"),))


def _written(name, data):
    return Recipe("put", DEFAULT_PAGES[f"templates/{name}.tpl"]).compiled().render(data).body.decode()


@pytest.mark.parametrize("name", ["not-found", "unauthorized", "forbidden", "bad-request", "internal-server"])
def test_errors(name):
    """HTML with names escaped, or an object with `error` for those who ask for JSON."""
    shown = _written(f"{name}-error", ErrorData(HTML, None, PageError("no <x>")))
    assert ("no &lt;x&gt;" in shown) == (name != "not-found")
    assert ("Not Found /a/&lt;b&gt;" in shown) == (name == "not-found")
    assert json.loads(_written(f"{name}-error", ErrorData(JSON, None, PageError('no "x"')))) == {"error": 'no "x"'}


def test_a_directory():
    """A table, or a list of entries; names are escaped."""
    moment = datetime(2026, 5, 1, 12, tzinfo=UTC)
    entries = (
        FolderEntry("d/", "/d/", "d/", "FOLDER"),
        FolderEntry("<a>", "/%3Ca%3E", "<a>", "FILE", 5, '"e"', moment),
    )
    shown = _written("folder-list", FolderListData(HTML, None, entries, "bucket", "site", ""))
    assert '<a href="/%3Ca%3E">&lt;a&gt;</a></td><td>5 B</td>' in shown
    listed = json.loads(_written("folder-list", FolderListData(JSON, None, entries, "bucket", "site", "")))
    assert [each["name"] for each in listed] == ["d/", "<a>"]
    assert listed[1] == {
        "name": "<a>",
        "etag": '"e"',
        "type": "FILE",
        "size": 5,
        "path": "/%3Ca%3E",
        "lastModified": "2026-05-01T12:00:00Z",
    }
    assert json.loads(_written("folder-list", FolderListData(JSON, None, (), "bucket", "site", ""))) == []


def test_the_targets():
    """The links of each, on the host that was asked unless the mount has one."""
    targets = {
        "a": TargetData("a", mount_paths=("/x/", "/y/")),
        "b": TargetData("b", mount_host="b.test", mount_paths=("/",)),
    }
    assert json.loads(_written("target-list", TargetListData(JSON, None, targets))) == [
        {"name": "a", "links": ["http://files.test/x/", "http://files.test/y/"]},
        {"name": "b", "links": ["http://b.test/"]},
    ]
    assert '<a href="http://b.test/">http://b.test/</a>' in _written("target-list", TargetListData(HTML, None, targets))


def test_uploads_and_removals():
    """They have no body."""
    assert _written("delete", DeletePageData(HTML, None, DeleteData("a"))) == ""


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
