"""The status page as operators see it: a real browser on the demo's admin listener."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

import pytest
from running import Proxy
from screens import eventually, press, screen, violations

pytestmark = pytest.mark.integration


def _text(browser, selector):
    return browser.find_element("css selector", selector).text


@pytest.fixture
def used(demo):
    """The demo after a few requests, some of them refused."""
    proxy = Proxy(None, demo.rstrip("/"))
    proxy.request("GET", "/press/spring.html")
    proxy.request("GET", "/<img src=x onerror=alert(1)>?token=s3cret".replace(" ", "%20"))
    return proxy


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1440])
def test_nothing_keeps_anybody_from_using_the_page(browser, status_page, axe, used, width, scheme):
    """axe-core finds no violation, with everything open that can be opened."""
    with screen(browser, width, scheme):
        browser.get(f"{status_page}?path=/press/spring.html&user=ann")
        browser.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
        found = violations(browser, axe)
    assert found == []


@pytest.mark.parametrize("width", [390, 768, 1440])
def test_the_page_fits_itsscreen(browser, status_page, used, width):
    """Wide tables move within their frames; the page does not move sideways."""
    with screen(browser, width):
        browser.get(f"{status_page}?path=/press/spring.html")
        page = "document.documentElement"
        assert browser.execute_script(f"return {page}.scrollWidth - {page}.clientWidth") == 0


def test_the_page_asks_nobody_else_and_complains_of_nothing(browser, status_page, used):
    """A stylesheet and a script of its own, within the policy that it was sent with."""
    browser.get_log("browser")
    browser.get(status_page)
    names = browser.execute_script("return performance.getEntriesByType('resource').map(each => each.name)")
    assert sorted(urlsplit(each).path.partition(".")[0] for each in names) == ["/-/assets/status"] * 2
    assert all(urlsplit(each).netloc == urlsplit(status_page).netloc for each in names)
    assert browser.get_log("browser") == []


def test_what_clients_asked_for_is_text(browser, status_page, used):
    """Markup in a path is shown, and its query is not."""
    browser.get(status_page)
    assert "<img src=x onerror=alert(1)>" in _text(browser, "#refused")
    assert browser.find_elements("css selector", "img") == []
    assert "s3cret" not in browser.page_source


@pytest.mark.parametrize("scripts", [True, False])
def test_a_path_is_explained_by_keyboard_alone(browser, status_page, scripts):
    """Tab leads to the field, Enter asks, and the way of the path is shown; also without JavaScript."""
    with screen(browser, 1000, scripts=scripts):
        browser.get(status_page)
        while browser.switch_to.active_element.get_attribute("name") != "path":
            press(browser, "\ue004")
        press(browser, "/press/spring.html\ue007")
        eventually(lambda: browser.find_elements("css selector", ".explanation"))
        assert "site/archive/press/spring.html" in _text(browser, ".explanation")
        assert browser.find_element("name", "path").get_attribute("value") == "/press/spring.html"


def test_the_page_updates_itself(browser, status_page, used):
    """New requests show without a reload; what was opened stays open, and what was typed stays."""
    browser.get(status_page)
    browser.find_element("css selector", "#unused summary").click()
    browser.find_element("name", "path").send_keys("/half-typed")
    used.request("GET", "/seen-after-a-while")
    eventually(lambda: "/seen-after-a-while" in _text(browser, "#refused"))
    assert browser.find_element("id", "unused").get_attribute("open")
    assert browser.find_element("name", "path").get_attribute("value") == "/half-typed"


def test_updates_can_be_paused(browser, status_page, used):
    """By a button that says which of both it is (WCAG 2.2.2)."""
    browser.get(status_page)
    button = browser.find_element("id", "pause")
    button.click()
    assert (button.get_attribute("aria-pressed"), button.text) == ("true", "Updates paused")
    used.request("GET", "/not-seen-while-paused")
    time.sleep(6)
    assert "/not-seen-while-paused" not in _text(browser, "#refused")
    button.click()
    eventually(lambda: "/not-seen-while-paused" in _text(browser, "#refused"))
