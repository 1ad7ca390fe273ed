"""Uploads of large files in a browser, in parts and directly to S3, and previews of files that S3 sends."""

from collections.abc import Iterator

import pytest
import real_s3
from administering import eventually
from running import Bucket, Proxy, start_proxy
from screens import blocked, choose, click, find, slow, texts

pytestmark = pytest.mark.integration

MIB = 1 << 20
TARGET = """
  {name}:
    mount: {{path: [/{name}]}}
    bucket: {{name: {bucket.name}, prefix: {name}/, s3Endpoint: "{bucket.endpoint}", s3ForcePathStyle: true}}
    actions: {{GET: {{config: {{{get}}}}}, PUT: {{enabled: true, config: {{{put}}}}}}}
    resources: [{{path: /{name}/**, methods: [GET, PUT], whiteList: true}}]
"""
TARGETS = {
    "parts": ("", "allowOverride: true"),
    "direct": ("", "allowOverride: true, directUploads: true"),
    "signed": ("redirectToSignedUrl: true", ""),
}
PICTURE = b'<svg xmlns="http://www.w3.org/2000/svg" width="12" height="8"><path d="M0 0h12v8z"/></svg>'


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    """A bucket with a picture and a text; its S3 accepts requests of pages from every origin."""
    with real_s3.moto_bucket("large") as created:
        created.put("signed/a.svg", PICTURE, ContentType="image/svg+xml")
        created.put("signed/b.txt", b"a text", ContentType="text/plain")
        created.put("parts/.tornado-proxy/x.txt", b"x")
        yield created


@pytest.fixture(scope="module")
def proxy(bucket, tmp_path_factory) -> Iterator[Proxy]:
    """A service with three targets of the bucket."""
    targets = [TARGET.format(name=name, bucket=bucket, get=get, put=put) for name, (get, put) in TARGETS.items()]
    with start_proxy(tmp_path_factory.mktemp("large"), f"targets:{''.join(targets)}") as started:
        yield started


@pytest.fixture
def page(browser, proxy):
    """Opens a directory in the browser, after its storage was cleared."""

    def open_path(path):
        browser.get(f"{proxy.url}/{path}")
        browser.execute_script("localStorage.clear(); sessionStorage.clear()")
        browser.get_log("browser")
        return browser

    return open_path


def _write_large_file(folder, name, size=33 * MIB):
    content = bytes(range(256)) * (size // 256) + b"end"
    (folder / name).write_bytes(content)
    return content


def _errors(browser):
    """Returns the browser's log without the 404 of requests that check whether a file exists."""
    return [entry["message"] for entry in browser.get_log("browser") if "404 (Not Found)" not in entry["message"]]


def test_a_large_file_is_uploaded_in_parts(page, bucket, tmp_path):
    """A large file is uploaded in parts with one progress bar, and a small file in one request."""
    content = _write_large_file(tmp_path, "large film é.mp4")
    (tmp_path / "small.txt").write_text("x")
    browser = page("parts/")
    with slow(browser, 12 * MIB):
        choose(browser, tmp_path / "large film é.mp4", tmp_path / "small.txt")
        bar = "return document.querySelector('progress')?.position"
        eventually(lambda: 0 < (browser.execute_script(bar) or 0) < 1)
    eventually(lambda: texts(browser, "#announcement") == ["2 uploaded"])
    assert bucket.get("parts/large film é.mp4") == content
    assert bucket.client.head_object(Bucket=bucket.name, Key="parts/large film é.mp4")["ContentType"] == "video/mp4"
    assert bucket.get("parts/small.txt") == b"x"
    assert bucket.uploads() == []
    assert _errors(browser) == []


def test_a_part_is_sent_again_after_a_broken_connection(page, bucket, tmp_path):
    content = _write_large_file(tmp_path, "broken.bin")
    browser = page("parts/")
    with blocked(browser, "*number=3*"):
        choose(browser, tmp_path / "broken.bin")
        eventually(lambda: texts(browser, ".transfers .message") == ["the connection broke, another try in a moment"])
    eventually(lambda: texts(browser, "#announcement") == ["1 uploaded"])
    assert bucket.get("parts/broken.bin") == content


def test_an_upload_is_resumed(page, bucket, proxy, tmp_path):
    """A file that is chosen again after the page was left is uploaded from the first missing part."""
    content = _write_large_file(tmp_path, "resumed.bin")
    browser = page("parts/")
    with blocked(browser, "*number=5*"):
        choose(browser, tmp_path / "resumed.bin")
        eventually(lambda: "another try" in "".join(texts(browser, ".transfers .message")))
        (upload,) = bucket.client.list_multipart_uploads(Bucket=bucket.name)["Uploads"]
        arguments = {"Bucket": bucket.name, "Key": upload["Key"], "UploadId": upload["UploadId"]}
        eventually(lambda: len(bucket.client.list_parts(**arguments).get("Parts", ())) == 4)
        browser.execute_script("window.onbeforeunload = null")
        browser.get("about:blank")
        browser.get(f"{proxy.url}/parts/")
    with blocked(browser, "*number=1*", "*number=2*", "*number=3*", "*number=4*"):
        choose(browser, tmp_path / "resumed.bin")
        eventually(lambda: texts(browser, "#announcement") == ["1 uploaded"])
    assert bucket.get("parts/resumed.bin") == content


def test_a_stopped_upload_leaves_nothing_behind(page, bucket, tmp_path):
    _write_large_file(tmp_path, "stopped.bin")
    browser = page("parts/")
    with slow(browser, 2 * MIB):
        choose(browser, tmp_path / "stopped.bin")
        eventually(lambda: bucket.uploads() == ["parts/stopped.bin"])
        find(browser, "button[aria-label='Stop stopped.bin']").click()
        eventually(lambda: bucket.uploads() == [])
    assert texts(browser, ".transfers .message") == ["stopped"]
    assert "parts/stopped.bin" not in bucket.all_keys()


def test_a_large_file_is_replaced_after_a_question(page, bucket, tmp_path):
    content = _write_large_file(tmp_path, "replaced.bin")
    bucket.put("parts/replaced.bin", b"old")
    browser = page("parts/")
    choose(browser, tmp_path / "replaced.bin")
    eventually(lambda: texts(browser, "dialog h2"))
    click(browser, "Replace")
    eventually(lambda: texts(browser, "#announcement") == ["1 uploaded"])
    assert bucket.get("parts/replaced.bin") == content


def test_a_large_file_is_uploaded_directly_to_s3(page, bucket, tmp_path):
    """The page's policy permits S3, and the file is sent there directly."""
    content = _write_large_file(tmp_path, "direct.bin")
    browser = page("direct/")
    # An upload in parts would fail.
    with blocked(browser, "*upload=start*"):
        choose(browser, tmp_path / "direct.bin")
        eventually(lambda: texts(browser, "#announcement") == ["1 uploaded"])
    assert bucket.get("direct/direct.bin") == content
    assert _errors(browser) == []


def test_a_large_file_is_sent_to_the_service_if_s3_is_unreachable(page, bucket, tmp_path):
    content = _write_large_file(tmp_path, "around.bin")
    browser = page("direct/")
    with blocked(browser, f"{bucket.endpoint}/*"), slow(browser, 12 * MIB):
        choose(browser, tmp_path / "around.bin")
        message = "since S3 cannot be reached from this page"
        eventually(lambda: message in "".join(texts(browser, ".transfers .message")))
    eventually(lambda: texts(browser, "#announcement") == ["1 uploaded"])
    assert bucket.get("direct/around.bin") == content


def test_files_that_s3_sends_have_previews(page):
    """A picture and a text are shown although another origin sends them."""
    browser = page("signed/")
    click_preview = "document.querySelector(`button[aria-label='Preview ${arguments[0]}']`).click()"
    browser.execute_script(click_preview, "a.svg")
    eventually(lambda: browser.execute_script("return document.querySelector('dialog img')?.naturalWidth") == 12)
    find(browser, ".turn.right").click()
    eventually(lambda: texts(browser, "dialog pre code") == ["a text"])
    assert browser.get_log("browser") == []
