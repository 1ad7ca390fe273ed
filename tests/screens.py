"""Functions that drive a browser: its screen, the keyboard, files to upload, and its network."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def set_size(browser: Any, width: int, height: int) -> None:
    """Gives the browser a size."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


@contextmanager
def screen(browser: Any, width: int = 1440, scheme: str = "light", *, scripts: bool = True) -> Iterator[None]:
    """Gives the browser a width and a colour scheme, with JavaScript or without."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    if not scripts:
        browser.get("about:blank")  # the page that is open has scripts
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    set_size(browser, width, 900)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def texts(browser: Any, selector: str) -> list[str]:
    """The texts of all elements that match a selector and are not hidden."""
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].filter(each => !each.closest('[hidden]'))"
        ".map(each => each.textContent)",
        selector,
    )


def find(browser: Any, selector: str) -> Any:
    """The first element that matches a selector."""
    return browser.find_element("css selector", selector)


def shown(browser: Any, selector: str = "body") -> str:
    """The text that the first element that matches a selector shows."""
    return find(browser, selector).text


def press(browser: Any, keys: str) -> None:
    """Sends keys to the element with the focus."""
    browser.switch_to.active_element.send_keys(keys)


def click(browser: Any, text: str) -> None:
    """Clicks the button with a text."""
    next(button for button in browser.find_elements("css selector", "button") if button.text == text).click()


def choose(browser: Any, *paths: object) -> None:
    """Chooses files to upload."""
    find(browser, ".upload input[type=file].files").send_keys("\n".join(map(str, paths)))


def overflow(browser: Any) -> int:
    """By how many pixels the page scrolls sideways."""
    page = "document.documentElement"
    return browser.execute_script(f"return {page}.scrollWidth - {page}.clientWidth")


def violations(browser: Any, axe: str) -> list[tuple[str, list[str]]]:
    """The barriers for people that axe-core finds on the current page: each rule with the elements that break it."""
    results = browser.execute_async_script(f"{axe}\naxe.run().then(arguments[arguments.length - 1])")
    return [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in results["violations"]]


@contextmanager
def slow(browser: Any, bytes_a_second: int) -> Iterator[None]:
    """Limits uploads to a number of bytes a second."""
    conditions = {"offline": False, "latency": 0, "downloadThroughput": -1}
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", {**conditions, "uploadThroughput": bytes_a_second})
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Network.emulateNetworkConditions", {**conditions, "uploadThroughput": -1})


@contextmanager
def blocked(browser: Any, *urls: str) -> Iterator[None]:
    """Blocks requests to URLs, in which `*` stands for any text."""
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": list(urls)})
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
