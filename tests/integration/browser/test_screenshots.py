"""The screenshots of the manual; `make screenshots` takes them again from the demo."""

from __future__ import annotations

import os
import random
import time
from base64 import b64decode
from pathlib import Path

import pytest
from running import Proxy

pytestmark = pytest.mark.integration

DOCS = Path(__file__).parents[3] / "docs"
SECONDS = 75  # of requests, so that the charts of the status page show traffic
LARGEST = 120_000  # bytes of a picture, since every clone of the repository contains it
FILES = {
    "budget 2026.csv": 48_213,
    "Harbour at dawn.jpg": 2_411_904,
    "interview-3.mp3": 8_123_400,
    "interview-12.mp3": 6_700_210,
    "notes.md": 3_117,
    "renew-certificates.py": 5_406,
    "scans.zip": 1_204_771,
}
PICTURES = {
    "listing": ("", "releases/", "light", (1000, 900)),
    "listing-dark": ("ann", "team/home/", "dark", (1000, 700)),
}


def _fill(demo):
    generator = random.Random(1)
    for name, size in FILES.items():
        assert Proxy(None, demo.rstrip("/")).upload(
            "/team/home/", name, generator.randbytes(size), user="ann:demo"
        ).status in (
            201,
            409,
        )


def _take_screenshot(browser, name, size, scheme):
    width, height = size
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    screenshot = browser.execute_cdp_cmd(
        "Page.captureScreenshot",
        {"captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}},
    )
    picture = b64decode(screenshot["data"])
    assert len(picture) < LARGEST, len(picture)
    (DOCS / f"{name}.png").write_bytes(picture)


@pytest.mark.skipif(
    not os.environ.get("UPDATE_SCREENSHOTS"), reason="no screenshot is taken unless UPDATE_SCREENSHOTS is set"
)
@pytest.mark.parametrize("name", PICTURES)
def test_screenshots_of_listings_are_taken(browser, demo, name):
    """The same pages are taken at the same size, in the light and in the dark scheme."""
    user, path, scheme, size = PICTURES[name]
    _fill(demo)
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(demo.replace("://", f"://{user}:demo@") + path if user else demo + path)
    browser.execute_script("document.documentElement.style.overflow = 'hidden'")
    _take_screenshot(browser, name, size, scheme)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.skipif(
    not os.environ.get("UPDATE_SCREENSHOTS"), reason="no screenshot is taken unless UPDATE_SCREENSHOTS is set"
)
def test_a_screenshot_of_the_status_page_is_taken(browser, demo, status_page):
    """The status page is taken after some requests, so that its charts show traffic."""
    paths = (
        "/press/spring.html",
        "/releases/",
        "/releases/latest/tool.tar.gz",
        "/nowhere",
        "/team/home/",
        "/press/a.html",
    )
    end, generator = time.monotonic() + SECONDS, random.Random(2)
    while time.monotonic() < end:
        for path in generator.choices(paths, weights=(8, 3, 5, 1, 1, 1), k=generator.randrange(1, 6)):
            Proxy(None, demo.rstrip("/")).request("GET", path)
        time.sleep(0.3)
    metrics = {"width": 1100, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(f"{status_page}?path=/press/spring.html")
    _take_screenshot(browser, "status", (1100, 900), "light")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
