"""Uploads in a browser where files may be replaced, and drops of directories."""

from collections.abc import Iterator

import pytest
import real_s3
from administering import eventually
from running import Bucket, Proxy, start_proxy
from screens import blocked, choose, click, find, texts

pytestmark = pytest.mark.integration

CONFIGURATION = """
targets:
  files:
    mount: {{path: [/files]}}
    bucket: {{name: {bucket.name}, s3Endpoint: "{bucket.endpoint}", s3ForcePathStyle: true}}
    actions:
      PUT: {{enabled: true, config: {{allowOverride: true, maxSize: 1MiB}}}}
      DELETE: {{enabled: true}}
    resources: [{{path: /files/**, methods: [GET, PUT, DELETE], whiteList: true}}]
    pages: {{title: Ours, css: brand.css, templates: brand}}
"""
MARK = "<p class='note' id='ours'>A line of the theme</p>"


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    """A bucket with a file."""
    with real_s3.moto_bucket("by-hand") as created:
        created.put("new/old.txt", b"old")
        yield created


@pytest.fixture(scope="module")
def proxy(bucket, tmp_path_factory) -> Iterator[Proxy]:
    """A service with its own theme, where everyone may change every file."""
    folder = tmp_path_factory.mktemp("by-hand")
    (folder / "brand.css").write_text(":root{--accent:#8a1c5b}#ours{letter-spacing:.1em}")
    (folder / "brand").mkdir()
    text = f'{{% extends "default/listing.html" %}}{{% block below %}}{MARK}{{% endblock %}}'
    (folder / "brand" / "listing.html").write_text(text)
    with start_proxy(folder, CONFIGURATION.format(bucket=bucket)) as started:
        yield started


@pytest.fixture
def page(browser, proxy):
    """Opens a directory in the browser."""

    def open_path(path):
        browser.get_log("browser")
        browser.get(f"{proxy.url}/files/{path}")
        return browser

    return open_path


def test_a_file_is_replaced_after_a_question(page, bucket, tmp_path):
    (tmp_path / "old.txt").write_text("new")
    browser = page("new/")
    browser.find_element("css selector", ".upload input.files").send_keys(str(tmp_path / "old.txt"))
    eventually(lambda: texts(browser, "dialog h2"))
    assert bucket.get("new/old.txt") == b"old"
    assert texts(browser, "dialog button") == ["Skip", "Skip all", "Replace", "Replace all"]
    click(browser, "Replace")
    eventually(lambda: texts(browser, "#announcement") == ["1 uploaded"])
    assert bucket.get("new/old.txt") == b"new"


def test_a_file_above_the_limit_is_not_sent(page, bucket, tmp_path):
    """The page reports a file above the limit and uploads the others."""
    (tmp_path / "large.bin").write_bytes(bytes((1 << 20) + 1))
    (tmp_path / "small.bin").write_bytes(b"x")
    browser = page("new/")
    paths = f"{tmp_path / 'large.bin'}\n{tmp_path / 'small.bin'}"
    browser.find_element("css selector", ".upload input.files").send_keys(paths)
    eventually(lambda: texts(browser, "#announcement") == ["1 uploaded, 1 failed"])
    assert "larger than 1.0 MiB" in texts(browser, ".transfers .failed")
    assert bucket.get("new/small.bin") == b"x"
    assert "new/large.bin" not in bucket.all_keys()


def test_an_upload_whose_script_cannot_be_loaded_is_reported(page, bucket, tmp_path):
    """The page says that nothing was uploaded if it cannot load what sends files, as after an update of the service."""
    (tmp_path / "unsent.txt").write_text("x")
    browser = page("new/")
    with blocked(browser, "*/transfers.*"):
        choose(browser, tmp_path / "unsent.txt")
        eventually(lambda: texts(browser, "dialog h2") == ["Nothing was uploaded"])
    assert "new/unsent.txt" not in bucket.all_keys()


def test_a_file_is_opened_where_the_viewer_cannot_be_loaded(page):
    browser = page("new/")
    with blocked(browser, "*/viewer.*"):
        find(browser, ".eye").click()
        eventually(lambda: browser.current_url.endswith("/new/old.txt"))


def test_a_dropped_directory_is_uploaded_completely(page, bucket, tmp_path):
    """A dropped directory is uploaded with its subdirectories, each file under its own path."""
    (tmp_path / "photos" / "märz").mkdir(parents=True)
    (tmp_path / "photos" / "a.txt").write_text("a")
    (tmp_path / "photos" / "märz" / "b c.txt").write_text("b")
    browser = page("new/")
    data = {"items": [], "files": [str(tmp_path / "photos")], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        browser.execute_cdp_cmd("Input.dispatchDragEvent", {"type": kind, "x": 300, "y": 300, "data": data})
    eventually(lambda: "2 uploaded" in texts(browser, "#announcement"))
    assert not find(browser, ".drop").is_displayed()
    assert bucket.get("new/photos/a.txt") == b"a"
    assert bucket.get("new/photos/märz/b c.txt") == b"b"


def test_a_theme_is_applied(page):
    """The page has the theme's title, stylesheet and template, within its content security policy."""
    browser = page("new/")
    assert browser.title == "new – Ours"
    style = browser.execute_script("return getComputedStyle(document.querySelector('#ours')).letterSpacing")
    assert style != "normal"
    assert browser.get_log("browser") == []
