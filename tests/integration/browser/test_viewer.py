"""The viewer of files and the grid of pictures in a browser."""

import pytest
from administering import eventually
from running import Proxy
from screens import choose, click, find, overflow, press, screen, texts, violations

pytestmark = pytest.mark.integration

ESCAPE, RIGHT, LEFT = "\ue00c", "\ue014", "\ue012"
PYTHON = 'def greet(name):\n    return "hello " + name  # a comment\n'
MARKDOWN = "# A heading\n\n- *one*\n- <script>alert(1)</script>two\n"
# The smallest PDF file that readers accept.
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj trailer<</Root 1 0 R>>"


def _is_shown(browser):
    """Whether a file is shown: the module of the viewer is loaded when it is first needed, and then the file."""
    return texts(browser, "dialog h2") and "Loading…" not in texts(browser, "dialog p")


@pytest.fixture(scope="module")
def files(demo):
    """The URL of a directory of Ann's with files of several kinds."""
    client = Proxy(None, demo.rstrip("/"))
    for name, content in (("code.py", PYTHON.encode()), ("notes.md", MARKDOWN.encode()), ("paper.pdf", PDF)):
        assert client.upload("/team/home/viewer/", name, content, user="ann:demo").status == 201
    return f"{demo.replace('://', '://ann:demo@')}team/home/viewer/"


@pytest.fixture
def opened(browser):
    """Opens a page of a width, and the viewer at a file; returns the browser."""

    def open_file(url, name):
        browser.get(url)
        browser.get_log("browser")
        find(browser, f"button[aria-label='Preview {name}']").click()
        eventually(lambda: _is_shown(browser))
        return browser

    return open_file


def test_pictures_are_turned_over_by_keys_and_buttons(browser, opened, demo):
    """Arrow keys and the buttons over the picture lead on and back, and the place among the files is shown."""
    with screen(browser):
        opened(f"{demo}releases/pictures/", "lighthouse.svg")
        assert texts(browser, "dialog .place") == ["2 of 3"]
        press(browser, RIGHT)
        eventually(lambda: texts(browser, "dialog .place") == ["3 of 3"])
        assert not find(browser, ".turn.right").is_displayed()
        find(browser, ".turn.left").click()
        eventually(lambda: texts(browser, "dialog h2") == ["lighthouse.svg"])
        assert find(browser, "dialog a[download]").get_attribute("download") == "lighthouse.svg"
        press(browser, ESCAPE)
        eventually(lambda: browser.switch_to.active_element.text == "lighthouse.svg")
        assert browser.get_log("browser") == []


def test_pictures_are_turned_over_by_a_swipe(browser, opened, demo):
    """On a phone, a swipe to the left shows the next picture, and one to the right the one before."""
    with screen(browser, 390):
        opened(f"{demo}releases/pictures/", "dunes.svg")
        for start, end, place in ((300, 100, "2 of 3"), (100, 300, "1 of 3")):
            browser.execute_script(
                "const [start, end] = arguments; const stage = document.querySelector('.stage .view');"
                "const event = (type, clientX) => stage.dispatchEvent("
                "new PointerEvent(type, {clientX, clientY: 300, pointerType: 'touch', bubbles: true}));"
                "event('pointerdown', start); event('pointerup', end);",
                start,
                end,
            )
            eventually(lambda place=place: texts(browser, "dialog .place") == [place])


def test_a_text_has_line_numbers_and_colours(opened, files):
    """A program is shown unchanged, with numbers that are not read aloud, and in the colours of its language."""
    browser = opened(files, "code.py")
    assert texts(browser, "dialog code") == [PYTHON]
    assert texts(browser, "dialog .numbers") == ["1\n2"]
    assert texts(browser, "dialog .t-keyword") == ["def", "return"]
    assert texts(browser, "dialog .t-comment") == ["# a comment"]
    assert browser.get_log("browser") == []


def test_a_text_that_cannot_be_read_says_why(browser, demo, files):
    """A file that is gone, or a session that has ended, is not a file without a preview."""
    client = Proxy(None, demo.rstrip("/"))
    assert client.upload("/team/home/viewer/", "gone.txt", b"x", user="ann:demo").status == 201
    browser.get(files)
    client.request("DELETE", "/team/home/viewer/gone.txt", user="ann:demo")
    find(browser, "button[aria-label='Preview gone.txt']").click()
    eventually(lambda: "There is nothing at this address." in texts(browser, "dialog p"))


def test_markdown_is_rendered_safely(opened, files):
    """Markdown is shown as the service shows READMEs, without scripts."""
    browser = opened(files, "notes.md")
    assert texts(browser, "dialog .readme em") == ["one"]
    assert browser.execute_script("return document.querySelectorAll('dialog script').length") == 0
    assert browser.get_log("browser") == []


def test_a_pdf_has_a_frame_where_the_browser_can(browser, files, tmp_path):
    """A PDF file is shown in a frame if the browser shows such files; what only has such a name is not."""
    (tmp_path / "real.pdf").write_bytes(PDF)
    browser.get(files)
    choose(browser, tmp_path / "real.pdf")
    eventually(lambda: texts(browser, "#announcement") in (["1 uploaded"], ["1 skipped"]))
    if not browser.execute_script("return navigator.pdfViewerEnabled"):
        assert not browser.find_elements("css selector", "button[aria-label='Preview real.pdf']")
        return
    find(browser, "button[aria-label='Preview real.pdf']").click()
    eventually(lambda: browser.find_elements("css selector", "dialog iframe[src$='/real.pdf']"))
    press(browser, ESCAPE)
    eventually(lambda: not texts(browser, "dialog"))
    find(browser, "button[aria-label='Preview paper.pdf']").click()
    eventually(lambda: texts(browser, "dialog .view p") == ["This file has no preview."])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1440])
def test_each_view_is_accessible(browser, opened, demo, files, axe, width, scheme):
    """The grid, the chosen files, and the viewer of each kind of file have no violation for axe-core."""
    with screen(browser, width, scheme):
        for name in ("code.py", "notes.md"):
            opened(files, name)
            assert violations(browser, axe) == []
        browser.get(files)
        find(browser, ".choice").click()
        press(browser, "?")
        assert violations(browser, axe) == []
        press(browser, ESCAPE)
        assert violations(browser, axe) == []
        browser.get(f"{demo}releases/pictures/")
        click(browser, "Grid")
        assert violations(browser, axe) == []
        assert overflow(browser) == 0
        click(browser, "Grid")


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("name", ["code.py", "notes.md"])
def test_no_button_covers_a_text(browser, opened, files, width, name):
    """The buttons that lead to other files stand beside a text, or below it on a phone."""
    with screen(browser, width):
        opened(files, name)
        view = find(browser, ".stage .view").rect
        for button in browser.find_elements("css selector", ".turn:enabled"):
            place = button.rect
            is_beside = place["x"] >= view["x"] + view["width"] or place["x"] + place["width"] <= view["x"]
            assert is_beside or place["y"] >= view["y"] + view["height"]


def test_a_phone_shows_filter_and_grid_in_one_row(browser, demo):
    """On a phone, the button of the grid stands beside the filter, which leaves more of the screen for files."""
    with screen(browser, 390):
        browser.get(f"{demo}releases/pictures/")
        assert find(browser, ".filter").rect["y"] == find(browser, "button[aria-pressed]").rect["y"]


def test_the_grid_loads_pictures_when_they_are_seen(browser, demo):
    """The grid shows the pictures themselves, loaded lazily, and a click opens the viewer; the choice is kept."""
    browser.get_log("browser")
    with screen(browser):
        browser.get(f"{demo}releases/pictures/")
        click(browser, "Grid")
        eventually(lambda: browser.execute_script("return document.querySelector('.grid img')?.naturalWidth") == 960)
        assert find(browser, ".grid img").get_attribute("loading") == "lazy"
        browser.refresh()
        find(browser, ".grid tbody tr:nth-child(3) a").click()
        eventually(lambda: texts(browser, "dialog .place") == ["2 of 3"])
        press(browser, ESCAPE)
        click(browser, "Grid")
        assert browser.find_elements("css selector", ".grid") == []
    assert browser.get_log("browser") == []


def test_a_walk_through_everything_has_no_console_error(browser, demo, files):
    """No page, view or control logs an error; the demo's own site has an icon and a main element."""
    browser.get_log("browser")
    with screen(browser):
        for path in ("", "press/spring.html", "help/", "blog/2024-05-17-hello.html", "releases/", "releases/?begins=p"):
            browser.get(demo + path)
            assert len(browser.find_elements("css selector", "main")) == 1
        for path in ("releases/2.1.0/", "releases/pictures/", "releases/odd%20names/", "releases/nightly/?sort=size"):
            browser.get(demo + path)
            find(browser, ".keys-button").click()
            press(browser, ESCAPE)
            eventually(lambda: not texts(browser, "dialog"))
            for button in browser.find_elements("css selector", "button[aria-pressed]"):
                button.click()
                button.click()
        browser.get(files)
        for button in browser.find_elements("css selector", ".eye"):
            button.click()
            eventually(lambda: _is_shown(browser))
            press(browser, ESCAPE)
            eventually(lambda: not texts(browser, "dialog"))
    assert browser.get_log("browser") == []
