"""Our texts for the default templates of s3-proxy."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from conversions import converted

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
from tornado_proxy.tools.convert.actions import default_page
from tornado_proxy.tools.convert.options import OptionOutcome

HTML = RequestData(host="files.test", path="/a/<b>")
JSON = RequestData(host="files.test", path="/a/<b>", headers=(("Accept", "application/json"),))


def _written(name, data):
    return Recipe("put", default_page(f"templates/{name}.tpl")).compiled().render(data).body.decode()


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


def test_a_default_template_without_its_file_is_written():
    """The image of s3-proxy has these files, so that a configuration may name them without having them."""
    text = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"
    done = converted(text + "templates: {folderList: {path: templates/folder-list.tpl}}")
    assert done.files["templates/folder-list.tpl"] == default_page("templates/folder-list.tpl")
    assert done.messages(OptionOutcome.CHANGED, OptionOutcome.LEFT_OUT) == []


@pytest.mark.parametrize(
    "path", ["folder-list.tpl", "templates/", "templates/other.tpl", "templates/../x", "a/put.tpl"]
)
def test_other_templates_have_no_default(path):
    """Only the paths of s3-proxy's own files."""
    assert default_page(path) is None
