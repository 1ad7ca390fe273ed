"""The pages of the demo in a browser."""

from urllib.parse import urlsplit

import pytest

pytestmark = pytest.mark.integration

# The luminance and the contrast of WCAG 2.2; a colour has the form `rgb(r, g, b)`.
_CONTRASTS = """
const parts = colour => colour.match(/[\\d.]+/g).map(Number);
const luminance = colour => parts(colour).slice(0, 3).map(value => value / 255)
    .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
const background = element => {
    const colour = getComputedStyle(element).backgroundColor;
    return parts(colour)[3] === 0 && element.parentElement ? background(element.parentElement) : colour;
};
return [...document.querySelectorAll("a, th, td, p")].filter(element => element.innerText.trim())
    .filter(element => !element.closest("[aria-hidden]")).map(element => {
        const [darker, lighter] = [getComputedStyle(element).color, background(element)].map(luminance).sort((a, b) => a - b);
        return (lighter + 0.05) / (darker + 0.05);
    });
"""


def _texts(browser, selector):
    return [element.text for element in browser.find_elements("css selector", selector)]


def _click(browser, text):
    browser.find_element("link text", text).click()


def _scheme(browser, name):
    features = [{"name": "prefers-color-scheme", "value": name}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def test_directories_are_walked_by_their_links(browser, demo):
    """Links lead down by a directory's name, up by the first row, and to the root by the path above the list."""
    browser.get(f"{demo}releases/")
    _click(browser, "2.1.0/")
    assert _texts(browser, "tbody bdi") == ["notes.txt", "tool.tar.gz"]
    _click(browser, "Up to Releases")
    assert "2.0.3/" in _texts(browser, "tbody bdi")
    _click(browser, "nightly/")
    browser.find_element("css selector", ".crumbs a").click()
    assert urlsplit(browser.current_url).path == "/releases/"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["releases/", "releases/nowhere.txt"])
def test_text_has_enough_contrast(browser, demo, scheme, path):
    """Every text has the contrast of 4.5 to 1 that WCAG 2.2 requires, in both colour schemes."""
    _scheme(browser, scheme)
    browser.get(demo + path)
    assert browser.execute_script(f"return matchMedia('(prefers-color-scheme: {scheme})').matches")
    assert min(browser.execute_script(_CONTRASTS)) >= 4.5


def test_a_page_fits_a_phone(browser, demo):
    """A page with long names doesn't scroll sideways at a width of 360 pixels."""
    metrics = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        browser.get(f"{demo}releases/nightly/")
        assert browser.execute_script("return [innerWidth, document.documentElement.scrollWidth]") == [360, 360]
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_an_error_page_shows_the_request_id(browser, demo):
    """The page of a missing file shows its status and the ID of the request."""
    browser.get(f"{demo}releases/nowhere.txt")
    assert browser.title == "404 Not Found – Releases"
    assert len(browser.find_element("css selector", ".request code").text) >= 16


def test_signing_in_opens_a_closed_directory(browser, demo):
    """A user who signs in with a password sees the user's own directory."""
    browser.get(f"{demo.replace('://', '://ben:demo@')}team/home/")
    assert "plan.txt" in _texts(browser, "tbody bdi")
