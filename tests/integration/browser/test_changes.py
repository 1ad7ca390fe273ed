"""Changes of a directory in a browser: what is said afterwards, several files at once, and uploads that go on."""

import io
import zipfile
from urllib.parse import urlsplit

import pytest
from administering import eventually
from running import Proxy
from screens import choose, click, find, press, screen, slow, texts

pytestmark = pytest.mark.integration

ESCAPE, ENTER, DOWN = "\ue00c", "\ue007", "\ue015"


@pytest.fixture
def open_home(browser, demo):
    """Opens a directory of Ann's with some files, and returns the browser."""
    client = Proxy(None, demo.rstrip("/"))

    def open_path(path, *names):
        for name in names:
            assert client.upload(f"/team/home/{path}", name, b"text", user="ann:demo").status == 201
        browser.get(f"{demo.rstrip('/').replace('://', '://ann:demo@')}/team/home/{path}")
        browser.get_log("browser")
        browser.execute_script("window.isTheSamePage = true")
        return browser

    with screen(browser):
        yield open_path


def _names(browser):
    return texts(browser, "tbody tr:not(.parent) bdi")


def test_an_upload_is_announced_for_good(open_home, tmp_path):
    """After an upload the page is the same, says what happened, marks the new rows, and counts them."""
    browser = open_home("said/", "old.txt")
    for name in ("new.txt", "old.txt"):
        (tmp_path / name).write_text("more")
    choose(browser, tmp_path / "new.txt", tmp_path / "old.txt")
    eventually(lambda: texts(browser, "dialog h2") == ["There is a file of this name"])
    assert texts(browser, "dialog button") == ["Skip", "Skip all"]  # no file may be replaced
    find(browser, "dialog .primary").click()
    eventually(lambda: texts(browser, "#announcement") == ["1 uploaded, 1 skipped"])
    assert texts(browser, "tr.new bdi") == ["new.txt"]
    assert texts(browser, ".totals") == ["2 files, 8 B"]
    find(browser, ".filter").send_keys("new")
    eventually(lambda: texts(browser, "#matches") == ["1 of 2 shown."])
    assert texts(browser, "#announcement") == ["1 uploaded, 1 skipped"]
    assert "skipped: there is a file of this name" in texts(browser, ".transfers .message")
    assert browser.execute_script("return window.isTheSamePage")


def test_an_upload_asks_nothing_before(open_home, tmp_path):
    """An upload is one request, and the console has no error."""
    browser = open_home("asked/", "old.txt")
    (tmp_path / "new.txt").write_text("new")
    browser.execute_script("performance.clearResourceTimings()")
    choose(browser, tmp_path / "new.txt")
    eventually(lambda: texts(browser, "#announcement") == ["1 uploaded"])
    kinds = browser.execute_script("return performance.getEntriesByType('resource').map(each => each.name)")
    paths = [urlsplit(each).path for each in kinds if not each.endswith(".js")]
    assert paths == ["/team/home/asked/"] * 2  # the upload, and the new listing
    assert browser.get_log("browser") == []


def test_the_totals_follow_a_deletion(open_home):
    browser = open_home("totals/", "a.txt", "b.txt")
    find(browser, "button[aria-label='Delete a.txt']").click()
    click(browser, "Delete")
    eventually(lambda: texts(browser, ".totals") == ["1 file, 4 B"])
    assert texts(browser, "#announcement") == ["a.txt is deleted"]


def test_the_last_file_is_deleted(open_home):
    browser = open_home("last/", "a.txt")
    find(browser, "button[aria-label='Delete a.txt']").click()
    click(browser, "Delete")
    eventually(lambda: texts(browser, ".empty") == ["This directory is empty."])


def test_the_focus_stays_after_a_stop(open_home, tmp_path):
    """The button that stops an upload goes, and the focus stays in the list of uploads."""
    browser = open_home("stopped/", "old.txt")
    (tmp_path / "large.bin").write_bytes(bytes(4 << 20))
    with slow(browser, 100_000):
        choose(browser, tmp_path / "large.bin")
        stops = eventually(lambda: browser.find_elements("css selector", "button[aria-label='Stop large.bin']"))
        stops[0].send_keys(ENTER)
        eventually(lambda: texts(browser, "#announcement") == ["1 stopped"])
        assert browser.execute_script("return document.activeElement.closest('.transfers') !== null")


def test_several_files_are_deleted_by_keyboard(open_home):
    """Files are chosen by `x`, and deleted after one question, with one announcement."""
    browser = open_home("several/", "a.txt", "b.txt", "c.txt")
    press(browser, f"{DOWN}x{DOWN}x")
    assert texts(browser, ".chosen span") == ["2 chosen"]
    click(browser, "Delete")
    assert texts(browser, "dialog h2") == ["Delete 2 files?"]
    find(browser, "dialog .danger").click()
    eventually(lambda: texts(browser, "#announcement") == ["2 files are deleted"])
    assert _names(browser) == ["c.txt"]


def test_several_files_are_downloaded_as_one(open_home, demo):
    """The link of the chosen files leads to an archive of exactly these."""
    browser = open_home("archive/", "a.txt", "b c.txt", "d.txt")
    for name in ("a.txt", "b c.txt"):
        find(browser, f"[aria-label='Choose {name}']").click()
    parts = urlsplit(find(browser, ".chosen a").get_attribute("href"))
    answer = Proxy(None, demo.rstrip("/")).request("GET", f"{parts.path}?{parts.query}", user="ann:demo")
    with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
        assert archive.namelist() == ["archive/a.txt", "archive/b c.txt"]


def test_a_directory_is_made_by_an_upload(open_home, tmp_path):
    """A new directory has the name that is typed, which cannot be a path, and the files that are chosen."""
    browser = open_home("made/", "old.txt")
    (tmp_path / "first.txt").write_text("first")
    click(browser, "New directory")
    eventually(lambda: browser.find_elements("css selector", "#new-directory"))[0].send_keys("a/b")
    click(browser, "Choose files")
    assert not browser.execute_script("return document.querySelector('#new-directory').checkValidity()")
    field = find(browser, "#new-directory")
    field.clear()
    field.send_keys("März")
    find(browser, ".files-of-new").send_keys(str(tmp_path / "first.txt"))
    eventually(lambda: texts(browser, "#announcement") == ["1 uploaded"])
    assert _names(browser) == ["März/", "old.txt"]
    assert texts(browser, "tr.new bdi") == ["März/"]


def test_uploads_survive_a_change_of_directory(open_home, tmp_path):
    """Links to directories leave the page as it is while files are sent, back and forward work, and the files arrive."""
    open_home("queue/sub/", "b.txt")
    browser = open_home("queue/", "a.txt")
    (tmp_path / "large.bin").write_bytes(bytes(1 << 20))
    with slow(browser, 300_000):
        choose(browser, tmp_path / "large.bin")
        browser.find_element("link text", "sub/").click()
        eventually(lambda: _names(browser) == ["b.txt"])
        assert urlsplit(browser.current_url).path == "/team/home/queue/sub/"
        browser.back()
        eventually(lambda: "a.txt" in _names(browser))
        browser.forward()
        eventually(lambda: _names(browser) == ["b.txt"])
    eventually(lambda: texts(browser, "#announcement") == ["1 uploaded"])
    assert browser.execute_script("return window.isTheSamePage")
    browser.find_element("css selector", ".up").click()
    eventually(lambda: _names(browser) == ["sub/", "a.txt", "large.bin"])


def test_a_drop_is_shown_over_the_whole_page(open_home):
    """While files are dragged, the page is covered by an overlay that says what a drop does."""
    browser = open_home("over/", "a.txt")
    data = {"items": [], "files": ["/etc/hostname"], "dragOperationsMask": 1}
    browser.execute_cdp_cmd("Input.dispatchDragEvent", {"type": "dragEnter", "x": 300, "y": 300, "data": data})
    overlay = find(browser, ".drop")
    eventually(overlay.is_displayed)
    assert (overlay.size["width"], overlay.size["height"]) >= (1400, 800)
    browser.execute_script("document.body.dispatchEvent(new DragEvent('dragleave', {bubbles: true}))")
    eventually(lambda: not overlay.is_displayed())


def test_the_user_and_the_actions_are_visible(open_home):
    """The page names the user, and the buttons of a row are visible without a pointer above them."""
    browser = open_home("visible/", "a.txt")
    assert texts(browser, ".user") == ["Signed in as ann"]
    styles = "return [...document.querySelectorAll('.icon')].map(each => getComputedStyle(each).opacity)"
    assert set(browser.execute_script(styles)) == {"1"}


def test_the_keys_are_shown(open_home):
    """`?` shows the keys, which can be turned off there."""
    browser = open_home("keys/", "a.txt", "b.txt")
    press(browser, "?")
    assert texts(browser, "dialog h2") == ["Keys"]
    find(browser, "dialog [type=checkbox]").click()
    press(browser, ESCAPE)
    eventually(lambda: not texts(browser, "dialog"))
    press(browser, "?")
    assert not texts(browser, "dialog")
    click(browser, "Keys")
    find(browser, "dialog [type=checkbox]").click()
