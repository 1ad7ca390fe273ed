"""The pages as people see them: a real browser on the demo."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from running import Proxy

pytestmark = pytest.mark.integration

# The luminance and the contrast of WCAG 2.2; colours come as `rgb(r, g, b)`.
_CONTRASTS = """
const parts = colour => colour.match(/[\\d.]+/g).map(Number);
const luminance = colour => parts(colour).slice(0, 3).map(each => each / 255)
    .map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
    .reduce((sum, each, index) => sum + each * [0.2126, 0.7152, 0.0722][index], 0);
const paper = element => {
    const own = getComputedStyle(element).backgroundColor;
    return parts(own)[3] === 0 && element.parentElement ? paper(element.parentElement) : own;
};
return [...document.querySelectorAll("a, th, td, p")].filter(element => element.innerText.trim())
    .filter(element => !element.closest("[aria-hidden]")).map(element => {
        const [less, more] = [getComputedStyle(element).color, paper(element)].map(luminance).sort((a, b) => a - b);
        return (more + 0.05) / (less + 0.05);
    });
"""


def _texts(browser, selector):
    return [each.text for each in browser.find_elements("css selector", selector)]


def _click(browser, text):
    browser.find_element("link text", text).click()


def _scheme(browser, name):
    features = [{"name": "prefers-color-scheme", "value": name}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def test_directories_are_walked_by_their_links(browser, demo):
    """Down by a name, up by the first row, and back to the root by the path above the list."""
    browser.get(f"{demo}releases/")
    _click(browser, "2.1.0/")
    assert _texts(browser, "tbody bdi") == ["notes.txt", "tool.tar.gz"]
    _click(browser, "Up to Releases")
    assert "2.0.3/" in _texts(browser, "tbody bdi")
    _click(browser, "nightly/")
    browser.find_element("css selector", ".crumbs a").click()
    assert urlsplit(browser.current_url).path == "/releases/"


def test_names_of_all_kinds_lead_to_their_files(browser, demo):
    """A link with a percent sign, a hash, a question mark or another script is followed to the file that it names."""
    browser.get(f"{demo}releases/odd names/")
    names = _texts(browser, "tbody bdi")
    assert len(names) == 6
    for name in names:
        browser.get(f"{demo}releases/odd names/")
        _click(browser, name)
        assert _texts(browser, "body") == [name]


def test_a_long_listing_is_read_page_by_page(browser, demo):
    """`Next page` leads on until all is seen, `First page` back."""
    browser.get(f"{demo}releases/nightly/")
    seen = _texts(browser, "tbody bdi")
    while browser.find_elements("link text", "Next page"):
        _click(browser, "Next page")
        seen += _texts(browser, "tbody bdi")
    assert seen == [f"build-{number:04}.log" for number in range(1, 241)]
    _click(browser, "First page")
    assert _texts(browser, "tbody bdi")[0] == "build-0001.log"


@pytest.mark.parametrize("path", ["releases/", "releases/nightly/", "releases/nowhere.txt"])
def test_a_page_asks_nobody_and_complains_of_nothing(browser, demo, path):
    """Everything comes from the same place, within the policy that it was sent with."""
    browser.get_log("browser")
    browser.get(demo + path)
    asked = browser.execute_script("return performance.getEntriesByType('resource').map(each => each.name)")
    assert [each for each in asked if not each.startswith(f"{demo}releases/.tornado-proxy/")] == []
    assert [each for each in browser.get_log("browser") if "404" not in each["message"]] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["releases/", "releases/nowhere.txt"])
def test_text_can_be_read_by_day_and_by_night(browser, demo, scheme, path):
    """Every text has the contrast that WCAG 2.2 asks for, 4.5 to 1, in either colour scheme."""
    _scheme(browser, scheme)
    browser.get(demo + path)
    assert browser.execute_script(f"return matchMedia('(prefers-color-scheme: {scheme})').matches")
    assert min(browser.execute_script(_CONTRASTS)) >= 4.5


def test_a_page_fits_a_telephone(browser, demo):
    """At 360 pixels nothing needs to be moved sideways, however long the names are."""
    metrics = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        browser.get(f"{demo}releases/nightly/")
        assert browser.execute_script("return [innerWidth, document.documentElement.scrollWidth]") == [360, 360]
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_refusal_shows_what_to_quote(browser, demo):
    """A file that is not there has a page that says so, with the number of the request."""
    browser.get(f"{demo}releases/nowhere.txt")
    assert browser.title == "404 Not Found – Releases"
    assert len(browser.find_element("css selector", ".request code").text) >= 16


def test_a_name_is_never_markup(browser, demo):
    """What somebody called a file is text in the listing, and leads to the file."""
    name = "<img src=x onerror=alert(1)>&amp;.txt"
    proxy = Proxy(None, demo)
    assert proxy.upload("/team/shared/", name, b"text", user="ann:demo").status == 201
    browser.get(f"{demo}team/shared/")
    assert name in _texts(browser, "tbody bdi")
    assert browser.find_elements("css selector", "img") == []
    _click(browser, name)
    assert _texts(browser, "body") == ["text"]


def test_signing_in_opens_what_is_closed(browser, demo):
    """With a name and a password the browser is shown the user's own directory."""
    browser.get(f"{demo.replace('://', '://ben:demo@')}team/home/")
    assert "plan.txt" in _texts(browser, "tbody bdi")
