"""Large files by hand: in parts that go on after a broken connection, or straight to S3; and previews that S3 sends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from urllib.parse import quote

import pytest
from running import Bucket, Proxy, start_proxy
from screens import blocked, choose, click, eventually, find, slow, texts

pytestmark = pytest.mark.integration

MIB = 1 << 20
TARGET = """
  {name}:
    mount: {{path: [/{name}]}}
    bucket: {{name: {bucket.name}, prefix: {name}/, s3Endpoint: "{bucket.endpoint}", s3ForcePathStyle: true,
              credentials: {{accessKey: {{env: ACCESS}}, secretKey: {{env: SECRET}}}}}}
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
    """A bucket whose S3 lets pages of every origin in, and has a picture and a text."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - slow to import

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    made = Bucket.create("http://{}:{}".format(*server.get_host_and_port()), "large")
    with closing(made.client):
        made.put("signed/a.svg", PICTURE, ContentType="image/svg+xml")
        made.put("signed/b.txt", b"a text", ContentType="text/plain")
        made.put("parts/.tornado-proxy/x.txt", b"x")
        yield made
    server.stop()


@pytest.fixture(scope="module")
def proxy(bucket, tmp_path_factory) -> Iterator[Proxy]:
    """A service with three targets of that bucket."""
    targets = [TARGET.format(name=name, bucket=bucket, get=get, put=put) for name, (get, put) in TARGETS.items()]
    text = f"server: {{port: 0}}\ninternalServer: {{port: 0}}\ntargets:{''.join(targets)}"
    with start_proxy(tmp_path_factory.mktemp("large"), text) as found:
        yield found


@pytest.fixture
def page(browser, proxy):
    """The browser on a directory, after what it remembered of uploads is gone."""

    def go(path):
        browser.get(f"{proxy.url}/{path}")
        browser.execute_script("localStorage.clear(); sessionStorage.clear()")
        browser.get_log("browser")
        return browser

    return go


def _large(folder, name, size=33 * MIB):
    content = bytes(range(256)) * (size // 256) + b"end"
    (folder / name).write_bytes(content)
    return content


def _complaints(browser):
    """What the browser logs, but for the answers to questions whether a file is there."""
    return [each["message"] for each in browser.get_log("browser") if "404 (Not Found)" not in each["message"]]


def test_a_large_file_goes_in_parts(page, bucket, tmp_path):
    """With one progress for all of them; a small file is one request, as before."""
    content = _large(tmp_path, "large film é.mp4")
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
    assert _complaints(browser) == []


def test_a_broken_connection_costs_no_more_than_a_part(page, bucket, tmp_path):
    """The page says that it tries again, and does."""
    content = _large(tmp_path, "broken.bin")
    browser = page("parts/")
    with blocked(browser, "*number=3*"):
        choose(browser, tmp_path / "broken.bin")
        eventually(lambda: texts(browser, ".transfers .message") == ["the connection broke, another try in a moment"])
    eventually(lambda: texts(browser, "#announcement") == ["1 uploaded"])
    assert bucket.get("parts/broken.bin") == content


def test_an_upload_goes_on_where_it_stopped(page, bucket, proxy, tmp_path):
    """The same file, chosen again after the page was left, is sent from where it was."""
    content = _large(tmp_path, "resumed.bin")
    browser = page("parts/")
    with blocked(browser, "*number=5*"):
        choose(browser, tmp_path / "resumed.bin")
        eventually(lambda: "another try" in "".join(texts(browser, ".transfers .message")))
        (upload,) = bucket.client.list_multipart_uploads(Bucket=bucket.name)["Uploads"]
        named = {"Bucket": bucket.name, "Key": upload["Key"], "UploadId": upload["UploadId"]}
        eventually(lambda: len(bucket.client.list_parts(**named).get("Parts", ())) == 4)
        browser.execute_script("window.onbeforeunload = null")
        browser.get("about:blank")
        browser.get(f"{proxy.url}/parts/")
    with blocked(browser, "*number=1*", "*number=2*", "*number=3*", "*number=4*"):
        choose(browser, tmp_path / "resumed.bin")
        eventually(lambda: texts(browser, "#announcement") == ["1 uploaded"])
    assert bucket.get("parts/resumed.bin") == content


def test_a_stop_leaves_nothing_behind(page, bucket, tmp_path):
    """Neither a file nor its parts."""
    _large(tmp_path, "stopped.bin")
    browser = page("parts/")
    with slow(browser, 2 * MIB):
        choose(browser, tmp_path / "stopped.bin")
        eventually(lambda: bucket.uploads() == ["parts/stopped.bin"])
        find(browser, "button[aria-label='Stop stopped.bin']").click()
        eventually(lambda: bucket.uploads() == [])
    assert texts(browser, ".transfers .message") == ["stopped"]
    assert "parts/stopped.bin" not in bucket.all_keys()


def test_a_large_file_is_replaced_after_a_question(page, bucket, tmp_path):
    """As a small one is."""
    content = _large(tmp_path, "replaced.bin")
    bucket.put("parts/replaced.bin", b"old")
    browser = page("parts/")
    choose(browser, tmp_path / "replaced.bin")
    eventually(lambda: texts(browser, "dialog h2"))
    click(browser, "Replace")
    eventually(lambda: texts(browser, "#announcement") == ["1 uploaded"])
    assert bucket.get("parts/replaced.bin") == content


def test_a_large_file_goes_straight_to_s3(page, bucket, tmp_path):
    """The policy of such a page names S3, and the file passes this service by."""
    content = _large(tmp_path, "direct.bin")
    browser = page("direct/")
    # No step of an upload in parts would get anywhere.
    with blocked(browser, "*upload=start*"):
        choose(browser, tmp_path / "direct.bin")
        eventually(lambda: texts(browser, "#announcement") == ["1 uploaded"])
    assert bucket.get("direct/direct.bin") == content
    assert _complaints(browser) == []


def test_a_large_file_goes_through_the_service_where_s3_lets_no_page_in(page, bucket, tmp_path):
    """The page says so, and the file arrives."""
    content = _large(tmp_path, "around.bin")
    browser = page("direct/")
    with blocked(browser, f"{bucket.endpoint}/*"), slow(browser, 12 * MIB):
        choose(browser, tmp_path / "around.bin")
        eventually(
            lambda: "since S3 cannot be reached from this page" in "".join(texts(browser, ".transfers .message"))
        )
    eventually(lambda: texts(browser, "#announcement") == ["1 uploaded"])
    assert bucket.get("direct/around.bin") == content


def test_previews_of_files_that_s3_sends(page):
    """A picture and a text are shown although another origin sends them."""
    browser = page("signed/")
    click_preview = "document.querySelector(`button[aria-label='Preview ${arguments[0]}']`).click()"
    browser.execute_script(click_preview, "a.svg")
    eventually(lambda: browser.execute_script("return document.querySelector('dialog img')?.naturalWidth") == 12)
    click(browser, "Next")
    eventually(lambda: texts(browser, "dialog pre") == ["a text"])
    assert browser.get_log("browser") == []


@pytest.mark.parametrize(("path", "connect", "pictures"), [("parts/", 1, 2), ("direct/", 2, 2), ("signed/", 2, 3)])
def test_only_such_pages_name_s3(proxy, bucket, path, connect, pictures):
    """The origin of S3 stands in the policy where the page needs it, and nowhere else."""
    policy = proxy.request("GET", f"/{path}", headers={"Accept": "text/html"}).headers["content-security-policy"]
    named = {each.split()[0]: each.split()[1:] for each in policy.split("; ")}
    assert (len(named["connect-src"]), len(named["img-src"])) == (connect, pictures)
    assert (bucket.endpoint in named["connect-src"], bucket.endpoint in named["img-src"]) == (connect > 1, pictures > 2)


def test_where_nothing_can_be_changed_nothing_is_offered(page):
    """The directory of the service's own files takes no upload, and says why."""
    browser = page(quote("parts/.tornado-proxy/"))
    assert texts(browser, "tbody bdi") == ["x.txt"]
    assert texts(browser, ".upload") == []
    assert "Nothing can be uploaded or deleted here." in "".join(texts(browser, ".note"))
