"""Uploads by hand where files may be replaced, drops of directories, and listings as long as they come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from running import Bucket, Proxy, start_proxy
from screens import click, eventually, find, texts

pytestmark = pytest.mark.integration

CONFIGURATION = """
server: {{port: 0}}
internalServer: {{port: 0}}
targets:
  files:
    mount: {{path: [/files]}}
    bucket: {{name: {bucket.name}, s3Endpoint: "{bucket.endpoint}", s3ForcePathStyle: true,
              credentials: {{accessKey: {{env: ACCESS}}, secretKey: {{env: SECRET}}}}}}
    actions:
      PUT: {{enabled: true, config: {{allowOverride: true, maxSize: 1MiB}}}}
      DELETE: {{enabled: true}}
    resources: [{{path: /files/**, methods: [GET, PUT, DELETE], whiteList: true}}]
    pages: {{title: Ours, css: brand.css, templates: brand}}
"""
MARK = "<p class='note' id='ours'>A line of the theme</p>"


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    """A bucket with names that no form can upload, and a directory of a thousand files."""
    from moto.backends import get_backend  # noqa: PLC0415 - slow to import
    from moto.core import DEFAULT_ACCOUNT_ID  # noqa: PLC0415 - as above
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - as above

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    made = Bucket.create("http://{}:{}".format(*server.get_host_and_port()), "by-hand")
    with closing(made.client):
        for key in ("odd/<script>alert(1)</script>", "odd/\u202egpj.exe", "odd/ok.txt", "new/old.txt"):
            made.put(key, b"old")
        for number in range(1000):
            made.put(f"many/picture {number}.jpg", b"x")
        inside = get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"]
        for number in range(10_000):  # past the network, which would take a minute
            inside.put_object("by-hand", f"huge/picture {number:04}.jpg", b"x")
        yield made
    server.stop()


@pytest.fixture(scope="module")
def proxy(bucket, tmp_path_factory) -> Iterator[Proxy]:
    """A service on which everyone may change everything, in clothes of its own."""
    folder = tmp_path_factory.mktemp("by-hand")
    (folder / "brand.css").write_text(":root{--accent:#8a1c5b}#ours{letter-spacing:.1em}")
    (folder / "brand").mkdir()
    text = f'{{% extends "default/listing.html" %}}{{% block below %}}{MARK}{{% endblock %}}'
    (folder / "brand" / "listing.html").write_text(text)
    with start_proxy(folder, CONFIGURATION.format(bucket=bucket)) as found:
        yield found


@pytest.fixture
def page(browser, proxy):
    """The browser on a directory."""

    def go(path):
        browser.get_log("browser")
        browser.get(f"{proxy.url}/files/{path}")
        return browser

    return go


def test_a_file_is_replaced_where_that_is_allowed(page, bucket, tmp_path):
    """After a question, and not before."""
    (tmp_path / "old.txt").write_text("new")
    browser = page("new/")
    browser.find_element("css selector", ".upload input.files").send_keys(str(tmp_path / "old.txt"))
    eventually(lambda: texts(browser, "dialog h2"))
    assert bucket.get("new/old.txt") == b"old"
    assert texts(browser, "dialog button") == ["Skip", "Skip all", "Replace", "Replace all"]
    click(browser, "Replace")
    eventually(lambda: texts(browser, "#announcement") == ["1 uploaded"])
    assert bucket.get("new/old.txt") == b"new"


def test_what_is_too_large_is_not_sent(page, bucket, tmp_path):
    """The page knows the limit; what is small enough goes through, and the page stays to say what did not."""
    (tmp_path / "large.bin").write_bytes(bytes((1 << 20) + 1))
    (tmp_path / "small.bin").write_bytes(b"x")
    browser = page("new/")
    chosen = f"{tmp_path / 'large.bin'}\n{tmp_path / 'small.bin'}"
    browser.find_element("css selector", ".upload input.files").send_keys(chosen)
    eventually(lambda: texts(browser, "#announcement") == ["1 uploaded, 1 failed"])
    assert "larger than 1.0 MiB" in texts(browser, ".transfers .failed")
    assert bucket.get("new/small.bin") == b"x"
    assert "new/large.bin" not in bucket.all_keys()


def test_a_directory_is_dropped_with_all_that_is_in_it(page, bucket, tmp_path):
    """Files of directories within it too, each under its own path."""
    (tmp_path / "photos" / "märz").mkdir(parents=True)
    (tmp_path / "photos" / "a.txt").write_text("a")
    (tmp_path / "photos" / "märz" / "b c.txt").write_text("b")
    browser = page("new/")
    data = {"items": [], "files": [str(tmp_path / "photos")], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        browser.execute_cdp_cmd("Input.dispatchDragEvent", {"type": kind, "x": 300, "y": 300, "data": data})
    eventually(lambda: "2 uploaded" in texts(browser, "#announcement"))
    assert bucket.get("new/photos/a.txt") == b"a"
    assert bucket.get("new/photos/märz/b c.txt") == b"b"


def test_names_that_no_form_can_send_are_harmless_too(page):
    """Slashes and marks for right-to-left are shown as text."""
    browser = page("odd/")
    assert "<script>alert(1)<" + "/" in texts(browser, "tbody bdi")
    assert "\u202egpj.exe" in texts(browser, "tbody bdi")
    # Of the two files, one is a text.
    labels = browser.execute_script(
        "return [...document.querySelectorAll('.eye')].map(each => each.getAttribute('aria-label'))"
    )
    assert labels == ["Preview ok.txt"]
    assert browser.get_log("browser") == []


def test_a_thousand_entries_stay_smooth(page):
    """The page is ready soon, and a letter in the filter is answered within two frames of a slow screen."""
    browser = page("many/")
    assert len(texts(browser, "tbody bdi")) == 1000
    assert texts(browser, "tbody bdi")[2] == "picture 2.jpg"
    timing = browser.execute_script(
        "const entry = performance.getEntriesByType('navigation')[0]; return entry.domComplete - entry.responseEnd"
    )
    filtering = browser.execute_script(
        "const field = document.querySelector('.filter'); field.value = '99';"
        "const start = performance.now(); field.dispatchEvent(new Event('input'));"
        "document.body.offsetHeight; return performance.now() - start"
    )
    print(f"complete {timing:.0f} ms after the last byte, filtered in {filtering:.0f} ms")
    assert len(texts(browser, "tbody bdi")) == 19
    assert timing < 2000
    assert filtering < 200


def test_ten_thousand_entries_are_walked_page_by_page(page):
    """Each page of a thousand is ready soon and filtered at once; there is a way on, and back, to every entry."""
    browser, seen, timings, filterings = page("huge/"), [], [], []
    for _ in range(10):
        seen += texts(browser, "tbody tr:not(.parent) bdi")
        timing = browser.execute_script(
            "const entry = performance.getEntriesByType('navigation')[0]; return entry.domComplete - entry.responseEnd"
        )
        filtering = browser.execute_script(
            "const field = document.querySelector('.filter'); field.value = '99';"
            "const start = performance.now(); field.dispatchEvent(new Event('input'));"
            "document.body.offsetHeight; return performance.now() - start"
        )
        timings.append(timing)
        filterings.append(filtering)
        if len(seen) < 10_000:
            following = find(browser, "a[rel=next]").get_attribute("href")
            browser.get(following)
    # The least of ten, which other work on the machine does not blur.
    print(f"complete {min(timings):.0f} ms after the last byte, filtered in {min(filterings):.0f} ms")
    assert min(timings) < 2000
    assert min(filterings) < 200
    assert seen == [f"picture {number:04}.jpg" for number in range(10_000)]
    assert browser.find_elements("css selector", "a[rel=next]") == []
    find(browser, "a[rel=prev]").click()
    eventually(lambda: texts(browser, "tbody tr:not(.parent) bdi")[:1] == ["picture 8000.jpg"])


def test_a_theme_is_worn(page):
    """Its title, its sheet and its template, within the policy."""
    browser = page("new/")
    assert browser.title == "new – Ours"
    style = browser.execute_script("return getComputedStyle(document.querySelector('#ours')).letterSpacing")
    assert style != "normal"
    assert browser.get_log("browser") == []
