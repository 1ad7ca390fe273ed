"""The status page of the demo in a browser."""

import time
from urllib.parse import urlsplit

import pytest
from administering import CONFIGURATION, Admin, eventually
from running import Proxy, start_proxy
from screens import overflow, press, screen, shown, texts, violations

pytestmark = pytest.mark.integration


@pytest.fixture
def used(demo):
    """A client of the demo, after a successful and a refused request."""
    proxy = Proxy(None, demo.rstrip("/"))
    proxy.request("GET", "/press/spring.html")
    proxy.request("GET", "/<img src=x onerror=alert(1)>?token=s3cret".replace(" ", "%20"))
    return proxy


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1440])
def test_the_page_is_accessible(browser, status_page, axe, used, width, scheme):
    """The page has no violation for axe-core with all details open."""
    with screen(browser, width, scheme):
        browser.get(f"{status_page}?path=/press/spring.html&user=ann")
        browser.execute_script("for (const details of document.querySelectorAll('details')) details.open = true")
        violated = violations(browser, axe)
    assert violated == []


@pytest.mark.parametrize("width", [390, 768, 1440])
def test_the_page_fits_the_screen(browser, status_page, used, width):
    """Wide tables scroll within their frames, and the page doesn't scroll sideways."""
    with screen(browser, width):
        browser.get(f"{status_page}?path=/press/spring.html")
        assert overflow(browser) == 0


def test_the_page_loads_everything_from_the_service(browser, status_page, used):
    """The page loads one stylesheet and one script from the service, within its content security policy."""
    browser.get_log("browser")
    browser.get(status_page)
    names = browser.execute_script("return performance.getEntriesByType('resource').map(resource => resource.name)")
    assert sorted(urlsplit(name).path.partition(".")[0] for name in names) == ["/-/assets/status"] * 2
    assert all(urlsplit(name).netloc == urlsplit(status_page).netloc for name in names)
    assert browser.get_log("browser") == []


def test_requested_paths_are_shown_as_text(browser, status_page, used):
    """Markup in a requested path is shown as text, without the query."""
    browser.get(status_page)
    assert "<img src=x onerror=alert(1)>" in shown(browser, "#refused")
    assert browser.find_elements("css selector", "img") == []
    assert "s3cret" not in browser.page_source


@pytest.mark.parametrize("scripts", [True, False])
def test_a_path_is_explained_by_keyboard(browser, status_page, scripts):
    """Tab focuses the field, and Enter shows the explanation of the path, also without JavaScript."""
    with screen(browser, 1000, scripts=scripts):
        browser.get(status_page)
        while browser.switch_to.active_element.get_attribute("name") != "path":
            press(browser, "\ue004")
        press(browser, "/press/spring.html\ue007")
        eventually(lambda: browser.find_elements("css selector", ".explanation"))
        assert "site/archive/press/spring.html" in shown(browser, ".explanation")
        assert texts(browser, "mark") == ["(?P<page>[^/]+)", "$page", "spring"]
        assert "200 OK" in shown(browser, ".way li:last-child")
        assert browser.find_element("name", "path").get_attribute("value") == "/press/spring.html"


def test_the_page_updates_itself(browser, status_page, used):
    """New requests appear without a reload, and open details and typed text stay."""
    browser.get(status_page)
    browser.find_element("css selector", "#unused summary").click()
    browser.find_element("name", "path").send_keys("/half-typed")
    used.request("GET", "/seen-after-a-while")
    eventually(lambda: "/seen-after-a-while" in shown(browser, "#refused"))
    assert browser.find_element("id", "unused").get_attribute("open")
    assert browser.find_element("name", "path").get_attribute("value") == "/half-typed"


def test_updates_can_be_paused(browser, status_page, used):
    """A button pauses the updates (WCAG 2.2.2), and says what it does next."""
    browser.get(status_page)
    button = browser.find_element("id", "pause")
    button.click()
    assert (button.get_attribute("aria-pressed"), button.text) == (None, "Resume updates")
    used.request("GET", "/not-seen-while-paused")
    time.sleep(6)
    assert "/not-seen-while-paused" not in shown(browser, "#refused")
    button.click()
    eventually(lambda: "/not-seen-while-paused" in shown(browser, "#refused"))


def test_requests_appear_and_lead_to_their_explanation(browser, status_page, used):
    """A new request appears in the list of the last ones, and its link explains it."""
    browser.get(status_page)
    used.request("GET", "/help/first-steps.html")
    eventually(lambda: "/help/first-steps.html" in shown(browser, "#recent"))
    browser.find_element("partial link text", "/help/first-steps.html").click()
    eventually(lambda: "guides" in shown(browser, ".way"))


def test_a_failing_rule_test_is_not_green(browser, tmp_path):
    """While a rule test fails, the state says so in a live region, and the page names the test."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "site.rules").write_text('target site { rewrite `^/a$` -> "/b" test "/a" -> "/c" }\n')
    with start_proxy(tmp_path, CONFIGURATION.format(endpoint="http://127.0.0.1:9")) as proxy:
        browser.get(f"{Admin.of(proxy).url}/-/")
        assert shown(browser, "#state[role=status]") == "Serving, a rule test fails"
        assert "site.rules:1" in shown(browser, "#trouble[role=status]")
