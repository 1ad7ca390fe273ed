"""The buttons of the status page, and the box for drafts, in a browser."""

from __future__ import annotations

import time

import pytest
from administering import RULES, service
from screens import eventually, find, press, screen, violations

pytestmark = pytest.mark.integration

EDIT = RULES.format("second")
DRAFT = """target site {
    rewrite names `^/(?P<name>[a-z]+)$` -> "/third/$name.txt"
    test "/one" -> "/first/one.txt"
}
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A service with edits that are staged, its admin listener and its rule file."""
    folder = tmp_path_factory.mktemp("service")
    with service(folder, "--workers", "2") as (proxy, admin):
        configuration = next(folder.glob("*.yaml"))
        configuration.write_text(configuration.read_text() + "reload: {stage: 1h}\n")
        admin.reload()
        for name in ("one", "two", "one"):
            proxy.request("GET", f"/{name}?token=s3cret")
        yield admin, folder / "rules" / "site.rules"


@pytest.fixture
def staged(running):
    """The service while an edit is staged."""
    admin, file = running
    file.write_text(EDIT)
    admin.reload()
    admin.wait_for_status(lambda status: status["staged"]["state"] == "staged")
    yield running
    file.write_text(RULES.format("first"))
    admin.reload()
    admin.request("POST", "/-/promote")


def _page(browser, admin, path="/-/"):
    browser.get(f"{admin.url}{path}")
    return find(browser, "main")


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize(("key", "outcome"), [("", "promoted"), ("\ue004", "discarded")])
def test_an_edit_is_ended_by_keyboard(browser, staged, scripts, key, outcome):
    """The first button promotes, the next one discards; the page says what happened, also without JavaScript."""
    admin, _ = staged
    with screen(browser, 1000, scripts=scripts):
        _page(browser, admin)
        while browser.switch_to.active_element.get_attribute("value") != "promote":
            press(browser, "\ue004")
        if key:
            press(browser, key)
        press(browser, "\ue007")
        said = eventually(lambda: browser.find_elements("css selector", "#ended[role=status]"))[0]
        assert f"was {outcome}" in said.text
        assert browser.find_elements("name", "end") == []
    assert admin.status()["staged"]["state"] == outcome


def test_an_edit_that_was_not_seen_is_not_promoted(browser, staged):
    """The page answers with the edit that is staged now."""
    admin, file = staged
    _page(browser, admin)
    find(browser, "#pause").click()
    file.write_text(RULES.format("other"))
    admin.reload()
    find(browser, "button[value=promote]").click()
    said = eventually(lambda: browser.find_elements("css selector", "#ended[role=alert]"))[0]
    assert "Nothing was done" in said.text
    assert admin.status()["staged"]["state"] == "staged"


def _digest(browser):
    return browser.execute_script("return document.querySelector('#stage input[name=digest]').value")


def test_a_button_keeps_its_meaning_under_the_pointer(browser, staged):
    """The page updates itself, but not the edit that somebody is about to decide on."""
    from selenium.webdriver import ActionChains  # noqa: PLC0415 - only where there is a browser

    admin, file = staged
    _page(browser, admin)
    digest = _digest(browser)
    ActionChains(browser).move_to_element(find(browser, "#stage")).perform()
    file.write_text(RULES.format("sudden"))
    admin.reload()
    time.sleep(5)
    assert _digest(browser) == digest
    ActionChains(browser).move_to_element(find(browser, "h1")).perform()
    eventually(lambda: _digest(browser) != digest)


def _tried(browser, admin, text):
    _page(browser, admin, "/-/draft")
    browser.execute_script("arguments[0].value = arguments[1]", find(browser, "#text"), text)
    find(browser, ".draft .act button").click()
    return eventually(lambda: browser.find_elements("id", "result"))[0]


@pytest.mark.parametrize("scripts", [True, False])
def test_a_draft_is_tried_on_the_requests_of_all_workers(browser, running, scripts):
    """Typed into the box and sent by keyboard; what it would change is explained, and nothing is in force."""
    admin, file = running
    before = admin.status()["digest"], file.read_text()
    with screen(browser, 1000, scripts=scripts):
        _page(browser, admin, "/-/draft")
        box = find(browser, "#text")
        box.clear()
        box.send_keys(DRAFT, *(["\ue009\ue007"] if scripts else ["\ue004\ue007"]))
        result = eventually(lambda: browser.find_elements("id", "result"))[0]
        assert "3 of 3 requests would change their key" in result.text
        assert "1 test of 1 fails" in result.text
        assert "2 times" in result.text
        find(browser, ".changed summary").click()
        assert "^/(?P<name>[a-z]+)$" in find(browser, ".changed .way").text
        assert find(browser, "#text").get_attribute("value") == DRAFT
        assert "s3cret" not in browser.page_source
    assert (admin.status()["digest"], file.read_text()) == before


def test_a_mistake_is_shown_beside_the_draft(browser, running):
    """As the command line draws it, with the text as typed."""
    result = _tried(browser, running[0], "target site { rewrite `(` => <b> }")
    assert "expected `->`" in result.text
    assert "site.rules:1:" in result.text
    assert browser.find_elements("css selector", "#result b") == []


def test_a_draft_can_be_copied(browser, running):
    """The button is there where a script can do it."""
    browser.execute_cdp_cmd(
        "Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    )
    _tried(browser, running[0], DRAFT)
    find(browser, "#copy").click()
    eventually(lambda: find(browser, "#copy").text == "Copied")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1440])
def test_the_pages_are_accessible_and_fit(browser, axe, staged, width, scheme):
    """Neither buttons nor box nor result has a violation for axe-core, and no page scrolls sideways."""
    admin, _ = staged
    with screen(browser, width, scheme):
        for show in (
            lambda: _page(browser, admin),
            lambda: _page(browser, admin, "/-/draft"),
            lambda: _tried(browser, admin, DRAFT),
            lambda: _tried(browser, admin, "target site { rewrite `(` => <b> }"),
        ):
            show()
            browser.execute_script("for (const details of document.querySelectorAll('details')) details.open = true")
            assert violations(browser, axe) == []
            page = "document.documentElement"
            assert browser.execute_script(f"return {page}.scrollWidth - {page}.clientWidth") == 0


def test_the_pages_load_everything_from_the_service(browser, staged):
    """Within their content security policy."""
    browser.get_log("browser")
    _tried(browser, staged[0], DRAFT)
    _page(browser, staged[0])
    assert browser.get_log("browser") == []
