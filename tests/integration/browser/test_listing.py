"""Listings in a browser: by mouse, by keyboard, on screens of three widths, with and without JavaScript."""

import re
from urllib.parse import quote, urlsplit

import pytest
from administering import eventually
from running import Proxy
from screens import choose, find, overflow, press, screen, texts, violations

pytestmark = pytest.mark.integration

# Names with a meaning in HTML, URLs or bidirectional text.
HOSTILE = [
    "<script>alert(1)<!--.txt", "<img src=x onerror=alert(1)>.png", "\"quotes' & &amp;.txt", "javascript:alert(1)",
    "\u202egpj.evil\u202c.exe", "%2e%2e%2f.txt", "?a=b#c.txt", "a" * 251 + ".txt", "עברית.txt", " blanks  .txt",
]  # fmt: skip


README = b"""# Formats

| format | notation | meaning of its parameters | compatibility |
|---|---|---|---|
| `application/octet-stream` | hexadecimal | implementation-defined | acknowledgement |
| `text/plain` | https://files.example/releases/nightly/2026-01-01T00:00:00Z.tar.gz | internationalisation | yes |
"""


def _url_as(demo, user, path):
    return f"{demo.rstrip('/').replace('://', f'://{user}:demo@')}{path}"


@pytest.fixture(scope="module")
def files(demo):
    """A client of the demo, after files with hostile names and a README were uploaded to Ann's directory."""
    proxy = Proxy(None, demo.rstrip("/"))
    for name in HOSTILE:
        assert _put(proxy, "/team/home/hostile/", name).status == 201
    assert _put(proxy, "/team/home/readme/", "README.md", README).status == 201
    return proxy


def _put(proxy, path, name, content=b"text"):
    # Browsers write a form's file name with these percent escapes.
    escaped = name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
    return proxy.upload(path, escaped, content, user="ann:demo")


PAGES = [
    ("nobody", "/releases/"),
    ("nobody", "/releases/nightly/?sort=size&order=desc"),
    ("nobody", "/releases/odd%20names/"),
    ("nobody", "/releases/nowhere/at/all.txt"),
    ("ann", "/team/home/hostile/"),
    ("ann", "/team/home/nothing/"),
]


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1440])
@pytest.mark.parametrize(("user", "path"), PAGES)
def test_a_page_is_accessible(browser, demo, files, axe, user, path, width, scheme, scripts):
    """A page has no violation for axe-core, and doesn't scroll sideways."""
    with screen(browser, width, scheme, scripts=scripts):
        browser.get(_url_as(demo, user, path) if user != "nobody" else demo.rstrip("/") + path)
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
        violated = violations(browser, axe)
        assert overflow(browser) == 0
    assert violated == []


_BROKEN_WORDS = """
const walker = document.createTreeWalker(document.querySelector(".readme table"), NodeFilter.SHOW_TEXT), broken = [];
for (let node; (node = walker.nextNode());)
    for (const {0: word, index} of node.data.matchAll(/\\w+/g)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        if (range.getClientRects().length > 1) broken.push(word);
    }
return broken;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1440])
def test_a_wide_table_of_a_readme_breaks_no_words(browser, demo, files, axe, width, scheme):
    """It scrolls in its own box, which the keyboard reaches; the page does not scroll sideways."""
    with screen(browser, width, scheme):
        browser.get(_url_as(demo, "ann", "/team/home/readme/"))
        assert browser.execute_script(_BROKEN_WORDS) == []
        assert overflow(browser) == 0
        table = find(browser, ".readme table")
        assert table.get_property("scrollWidth") > table.get_property("clientWidth") or width > 390
        assert violations(browser, axe) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize(
    ("user", "path", "button", "title"),
    [
        ("nobody", "/releases/pictures/", "Preview dunes.svg", "dunes.svg"),
        ("nobody", "/releases/2.1.0/", "Preview notes.txt", "notes.txt"),
        ("ann", "/team/home/dialogs/", "Delete taken.txt", "Delete this file?"),
        ("ann", "/team/home/dialogs/", None, "There is a file of this name"),
    ],
)
def test_a_dialog_is_accessible(browser, demo, files, axe, tmp_path, user, path, button, title, width, scheme):
    """A page has no violation for axe-core while a dialog is open, and after it is closed."""
    _put(files, "/team/home/dialogs/", "taken.txt")
    (tmp_path / "taken.txt").write_text("x")
    with screen(browser, width, scheme):
        browser.get(_url_as(demo, user, path) if user != "nobody" else demo.rstrip("/") + path)
        if button:
            find(browser, f"button[aria-label='{button}']").click()
        else:
            choose(browser, tmp_path / "taken.txt")
        eventually(lambda: texts(browser, "dialog h2") == [title])
        eventually(lambda: "Loading…" not in texts(browser, "dialog p"))
        violated = violations(browser, axe)
        press(browser, "\ue00c")
        eventually(lambda: not texts(browser, "dialog"))
        eventually(lambda: button or "skipped" in "".join(texts(browser, "#announcement")))
        violated += violations(browser, axe)
    assert violated == []


def test_directories_are_walked_by_their_links(browser, demo):
    """Links lead down by a directory's name, up by the first row, and to the root by the path above the list."""
    browser.get(f"{demo}releases/")
    browser.find_element("link text", "2.1.0/").click()
    assert texts(browser, "tbody bdi") == ["notes.txt", "tool.tar.gz"]
    browser.find_element("link text", "Up to Releases").click()
    assert "2.0.3/" in texts(browser, "tbody bdi")
    browser.find_element("link text", "nightly/").click()
    browser.find_element("css selector", ".crumbs a").click()
    assert urlsplit(browser.current_url).path == "/releases/"


def test_an_error_page_shows_the_request_id(browser, demo):
    browser.get(f"{demo}releases/nowhere.txt")
    assert browser.title == "404 Not Found – Releases"
    assert len(browser.find_element("css selector", ".request code").text) >= 16


def test_a_page_needs_three_requests(browser, demo):
    """A page loads one stylesheet and one script, both from the service."""
    browser.get(f"{demo}releases/")
    names = browser.execute_script("return performance.getEntriesByType('resource').map(resource => resource.name)")
    assert len(names) == 2
    assert all(name.startswith(f"{demo}releases/.tornado-proxy/") for name in names)


@pytest.mark.parametrize("scripts", [True, False])
def test_hostile_names_are_shown_as_text(browser, demo, files, scripts):
    """Each name is shown, with signs for changes of direction, and its link leads to its file, also without JavaScript."""
    with screen(browser, scripts=scripts):
        browser.get(_url_as(demo, "ann", "/team/home/hostile/"))
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
        names = [re.sub("[\u202a-\u202e]", "\ufffd", name) for name in HOSTILE]
        assert sorted(texts(browser, "tbody bdi")) == sorted(names)
        assert browser.execute_script("return document.querySelectorAll('tbody script, tbody img').length") == 0
        links = browser.execute_script("return [...document.querySelectorAll('tbody a:has(bdi)')].map(a => a.href)")
    for link in links:
        parts = urlsplit(link)
        assert (parts.hostname, parts.query, parts.fragment) == ("127.0.0.1", "", "")
        assert files.request("GET", parts.path, user="ann:demo").text == "text"


def test_all_pages_are_sorted_without_javascript(browser, demo):
    """One click on a column's head sorts all pages on the server, the largest first, and the head names the order."""
    with screen(browser, scripts=False):
        browser.get(f"{demo}releases/nightly/?limit=100")
        browser.find_element("link text", "Size").click()
        assert "sort=size&order=desc" in browser.current_url
        assert find(browser, "th[aria-sort]").get_attribute("aria-sort") == "descending"
        assert find(browser, "tbody tr:nth-child(2) bdi").text == "build-0240.log"
        browser.find_element("link text", "Next page").click()
        assert find(browser, "tbody tr:nth-child(2) bdi").text == "build-0140.log"
        browser.find_element("link text", "Previous page").click()
        assert find(browser, "tbody tr:nth-child(2) bdi").text == "build-0240.log"
        browser.find_element("link text", "Size").click()
        assert find(browser, "tbody tr:nth-child(2) bdi").text == "build-0001.log"


@pytest.mark.parametrize("scripts", [True, False])
def test_names_are_searched_on_all_pages(browser, demo, scripts):
    """The field finds names on other pages by their beginning, and says if there is none; one link shows all again."""
    with screen(browser, scripts=scripts):
        browser.get(f"{demo}releases/nightly/?limit=100")
        find(browser, ".filter").send_keys("build-020")
        if scripts:
            eventually(lambda: "Nothing matches on this page. Search all names" in "".join(texts(browser, "#matches")))
            find(browser, "#matches a").click()
        else:
            press(browser, "\ue007")
        eventually(lambda: len(texts(browser, "tbody tr:not(.parent) bdi")) == 10)
        assert texts(browser, "tbody tr:not(.parent) bdi")[0] == "build-0200.log"
        browser.get(f"{demo}releases/nightly/?begins=none")
        assert texts(browser, "#matches") == ["No name begins with “none”. Show all names"]
        browser.find_element("link text", "Show all names").click()
        assert len(texts(browser, "tbody tr:not(.parent) bdi")) == 240


def test_a_list_is_filtered_and_walked_by_keyboard(browser, demo):
    """`/` focuses the filter, arrow keys move through the matches, Enter opens one, and Escape clears the filter."""
    with screen(browser):
        browser.get(f"{demo}releases/odd%20names/")
        press(browser, "\ue015")  # down, from nowhere
        assert browser.switch_to.active_element.text == "100% sure.txt"
        press(browser, "/")
        press(browser, "anderung")
        assert texts(browser, "tbody bdi") == ["Änderungen.txt"]
        eventually(lambda: texts(browser, "#matches") == ["1 of 6 shown."])
        press(browser, "\ue00c")  # Escape
        assert len(texts(browser, "tbody bdi")) == 6
        press(browser, "\ue015\ue015\ue013")  # down, down, up
        press(browser, "\ue007")  # Enter
        assert urlsplit(browser.current_url).path.endswith("100%25%20sure.txt")


def test_times_are_in_the_time_zone_of_the_reader(browser, demo):
    """Times are in the reader's time zone; without JavaScript they are in UTC, which the page states."""
    browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kolkata"})
    try:
        browser.get(f"{demo}releases/2.1.0/")
        script = "const time = document.querySelector('time'); return [time.textContent, time.dateTime]"
        local, utc = browser.execute_script(script)
        hours = (int(local[11:13]) * 60 + int(local[14:16]) - int(utc[11:13]) * 60 - int(utc[14:16])) % 1440
        assert hours == 330
        assert "UTC" not in find(browser, "thead").text
    finally:
        browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})


def test_exact_times_and_sizes_are_shown_on_hover(browser, demo):
    """A pointer on a time or a size shows its seconds or its bytes."""
    from selenium.webdriver import ActionChains  # noqa: PLC0415 - only where there is a browser

    browser.get(f"{demo}releases/2.1.0/")
    time, size = (find(browser, f".listing td {name}") for name in ("time", "data"))
    ActionChains(browser).move_to_element(time).move_to_element(size).perform()
    assert re.search(r":[0-9]{2}:[0-9]{2}", time.get_attribute("title"))
    assert re.fullmatch(r"[0-9,]+ bytes?", size.get_attribute("title"))


def test_files_are_uploaded_under_their_own_names(browser, demo, files, tmp_path):
    """A file is stored under its own name, with quotes, percent signs or other scripts."""
    names = ['quote".txt', "100%41.txt", "Größe 日本.txt", "a;b&c.txt"]
    for name in names:
        (tmp_path / name).write_text(name)
    _put(files, "/team/home/names/", "first.txt")
    browser.get(_url_as(demo, "ann", "/team/home/names/"))
    choose(browser, *(tmp_path / name for name in names))
    eventually(lambda: sorted(texts(browser, "tbody bdi")) == sorted(["first.txt", *names]))
    for name in names:
        assert files.request("GET", f"/team/home/names/{quote(name)}", user="ann:demo").text == name


def test_a_file_is_deleted_after_a_question(browser, demo, files):
    """Escape keeps the file, the button deletes it, and the focus moves to the next file."""
    for name in ("a.txt", "b.txt"):
        _put(files, "/team/home/delete/", name)
    with screen(browser):
        browser.get(_url_as(demo, "ann", "/team/home/delete/"))
        for key in ("\ue00c", None):
            browser.execute_script("document.querySelector('button[aria-label=\"Delete a.txt\"]').focus()")
            press(browser, "\ue007")
            assert "Delete this file?" in texts(browser, "dialog h2")
            assert browser.switch_to.active_element.text == "Keep"
            if key:
                press(browser, key)
                eventually(lambda: not texts(browser, "dialog"))
                assert files.request("HEAD", "/team/home/delete/a.txt", user="ann:demo").status == 200
            else:
                press(browser, "\ue004")  # Tab
                press(browser, "\ue007")
        eventually(lambda: texts(browser, "tbody bdi") == ["b.txt"])
        assert browser.switch_to.active_element.text == "b.txt"
    assert files.request("HEAD", "/team/home/delete/a.txt", user="ann:demo").status == 404


@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_has_a_touch_layout(browser, demo, files, width):
    """On a phone, controls share a left edge, sort links are 44 px high, and the buttons of a row overlap no text."""
    _put(files, "/team/home/phone/", "a.txt")
    _put(files, "/team/home/phone/", "b.txt")
    with screen(browser, width):
        browser.get(_url_as(demo, "ann", "/team/home/phone/"))
        assert not find(browser, ".upload p").is_displayed()
        rectangles = {
            name: [element.rect for element in browser.find_elements("css selector", name)]
            for name in (".filter", ".upload button", "thead a", ".choice", "tbody .time", ".eye", ".bin")
        }
    assert len({rectangles[name][0]["x"] for name in (".filter", ".upload button", ".choice")}) == 1
    assert min(element["height"] for element in rectangles["thead a"]) >= 44
    rows = zip(rectangles["tbody .time"][1:], rectangles[".eye"], rectangles[".bin"], strict=True)
    for time, eye, bin_ in rows:
        assert bin_["x"] - eye["x"] - eye["width"] >= 8
        assert time["x"] + time["width"] <= eye["x"] or time["y"] >= eye["y"] + eye["height"]


_LEFT_EDGES = "return arguments[0].map(each => document.querySelector(each).getBoundingClientRect().left)"


def test_a_phone_shows_what_belongs_together_in_one_line(browser, demo, files):
    """The checkboxes of head and rows, names with and without one, and those of a path, begin at the same edge."""
    _put(files, f"/team/home/{'-'.join(['long'] * 8)}/{'-'.join(['path'] * 8)}/", "a.txt")
    with screen(browser, 390):
        browser.get(_url_as(demo, "ann", "/team/home/hostile/"))
        eventually(lambda: browser.find_elements("css selector", "tbody .choice"))
        head, row = browser.execute_script(_LEFT_EDGES, ["thead .choice", "tbody .choice"])
        assert head == row
        without, with_choice = browser.execute_script(_LEFT_EDGES, ["tbody .up", "tbody tr:has(.choice) th a"])
        assert without == with_choice
        browser.get(_url_as(demo, "ann", f"/team/home/{'-'.join(['long'] * 8)}/{'-'.join(['path'] * 8)}/"))
        first, last = browser.execute_script(_LEFT_EDGES, [".crumbs li:first-child a", ".crumbs li:last-child span"])
        assert first == last


def test_a_page_without_javascript_hides_its_controls(browser, demo, files):
    with screen(browser, scripts=False):
        browser.get(_url_as(demo, "ann", "/team/home/hostile/"))
        assert "enable JavaScript" in find(browser, "noscript .note").text
        assert not find(browser, ".upload").is_displayed()
        assert find(browser, "noscript button").text == "Search"


def test_a_page_of_another_site_can_neither_upload_nor_delete(browser, demo, files):
    """Requests of a page from another origin change nothing although the browser knows the password."""
    _put(files, "/team/home/csrf/", "a.txt", b"mine")
    browser.get(_url_as(demo, "ann", "/team/home/csrf/"))
    other = demo.replace("127.0.0.1", "localhost")
    browser.get(f"{other}releases/")
    for method in ("DELETE", "PUT"):
        script = (
            "const [url, method, done] = arguments;"
            "fetch(url, {method, mode: 'cors', credentials: 'include'}).then(a => done(a.status), e => done(e.name))"
        )
        assert browser.execute_async_script(script, f"{demo}team/home/csrf/a.txt", method) == "TypeError"
    assert files.request("GET", "/team/home/csrf/a.txt", user="ann:demo").text == "mine"
