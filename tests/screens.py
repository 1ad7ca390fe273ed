"""What tests do with a browser: a screen of a size, what it shows, keys, files, a slow or broken network."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SECONDS = 20  # that a page has to show what it should


@contextmanager
def screen(browser: Any, width: int = 1440, scheme: str = "light", *, scripts: bool = True) -> Iterator[None]:
    """A screen of a width and a colour scheme, with JavaScript or without."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 700}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def eventually(look: Callable[[], Any], seconds: float = SECONDS) -> Any:
    """What a look finds, as soon as it finds something."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def texts(browser: Any, selector: str) -> list[str]:
    """The texts of all elements of a selector that are not hidden."""
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].filter(each => !each.closest('[hidden]'))"
        ".map(each => each.textContent)",
        selector,
    )


def find(browser: Any, selector: str) -> Any:
    """The first element of a selector."""
    return browser.find_element("css selector", selector)


def press(browser: Any, keys: str) -> None:
    """Press keys where the focus is."""
    browser.switch_to.active_element.send_keys(keys)


def click(browser: Any, text: str) -> None:
    """Click the button with a text."""
    next(each for each in browser.find_elements("css selector", "button") if each.text == text).click()


def choose(browser: Any, *paths: object) -> None:
    """Choose files to upload."""
    find(browser, ".upload input[type=file].files").send_keys("\n".join(map(str, paths)))


def violations(browser: Any, axe: str) -> list[tuple[str, list[str]]]:
    """What axe-core finds that keeps people from using the page as it is."""
    found = browser.execute_async_script(f"{axe}\naxe.run().then(arguments[arguments.length - 1])")
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]]


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
    """No request to URLs with a `*` gets anywhere."""
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": list(urls)})
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
