"""Tests the pages that are written in place of the default templates of s3-proxy."""

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
from tornado_proxy.semantics.request import Request
from tornado_proxy.templates.template import TargetData
from tornado_proxy.tools.convert.options import OptionOutcome
from tornado_proxy.tools.convert.settings import default_page

HTML = Request(host="files.test", path="/a/&b")
JSON = Request(host="files.test", path="/a/&b", headers=(("Accept", "application/json"),))


def _render(name, data):
    return Recipe(name.replace("-", "_"), default_page(f"templates/{name}.tpl")).compiled().render(data).body.decode()


@pytest.mark.parametrize("name", ["not-found", "unauthorized", "forbidden", "bad-request", "internal-server"])
def test_an_error_page_is_html_or_json(name):
    """The page is HTML with escaped names, or an object with `error` if the client accepts JSON."""
    page = _render(f"{name}-error", ErrorData(HTML, None, PageError("no <x>")))
    assert ("no &lt;x&gt;" in page) == (name != "not-found")
    assert ("<h1>Not Found /a/&amp;b</h1>" in page) == (name == "not-found")
    assert json.loads(_render(f"{name}-error", ErrorData(JSON, None, PageError('no "x"')))) == {"error": 'no "x"'}


def test_a_listing_is_a_table_or_a_json_list():
    """Names are escaped in HTML."""
    moment = datetime(2026, 5, 1, 12, tzinfo=UTC)
    entries = (
        FolderEntry("d/", "/d/", "d/", "FOLDER"),
        FolderEntry("<a>", "/%3Ca%3E", "<a>", "FILE", 5, '"e"', moment),
    )
    page = _render("folder-list", FolderListData(HTML, None, entries, "bucket", "site", ""))
    assert '<a href="/%3Ca%3E">&lt;a&gt;</a></td><td>5 B</td>' in page
    items = json.loads(_render("folder-list", FolderListData(JSON, None, entries, "bucket", "site", "")))
    assert [item["name"] for item in items] == ["d/", "<a>"]
    assert items[1] == {
        "name": "<a>",
        "etag": '"e"',
        "type": "FILE",
        "size": 5,
        "path": "/%3Ca%3E",
        "lastModified": "2026-05-01T12:00:00Z",
    }
    assert json.loads(_render("folder-list", FolderListData(JSON, None, (), "bucket", "site", ""))) == []


def test_the_page_of_all_targets_has_their_links():
    """A link has the host of the mount, or else the host of the request."""
    targets = {
        "a": TargetData("a", mount_paths=("/x/", "/y/")),
        "b": TargetData("b", mount_host="b.test", mount_paths=("/",)),
    }
    assert json.loads(_render("target-list", TargetListData(JSON, None, targets))) == [
        {"name": "a", "links": ["http://files.test/x/", "http://files.test/y/"]},
        {"name": "b", "links": ["http://b.test/"]},
    ]
    assert '<a href="http://b.test/">http://b.test/</a>' in _render("target-list", TargetListData(HTML, None, targets))


def test_a_removal_has_an_empty_page():
    assert _render("delete", DeletePageData(HTML, None, DeleteData("a"))) == ""


def test_a_default_template_without_its_file_is_written():
    """The image of s3-proxy contains these files, so a configuration may name them without having them."""
    text = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"
    conversion = converted(text + "templates: {folderList: {path: templates/folder-list.tpl}}")
    assert conversion.files["templates/folder-list.tpl"] == default_page("templates/folder-list.tpl")
    assert conversion.messages(OptionOutcome.CHANGED, OptionOutcome.LEFT_OUT) == []


@pytest.mark.parametrize(
    "path", ["folder-list.tpl", "templates/", "templates/other.tpl", "templates/../x", "a/put.tpl"]
)
def test_other_templates_have_no_default(path):
    """Only the exact paths of s3-proxy's own files have a default."""
    assert default_page(path) is None
