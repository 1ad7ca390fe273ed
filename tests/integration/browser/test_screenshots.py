"""The screenshots of the manual; `make screenshots` takes them again from the demo."""

import html
import io
import os
import random
import re
import time
from base64 import b64decode
from pathlib import Path
from urllib.parse import urlencode

import pytest
from administering import Admin, eventually
from fenced import blocks
from running import Proxy, start_proxy
from screens import find, set_size

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not os.environ.get("UPDATE_SCREENSHOTS"), reason="UPDATE_SCREENSHOTS is not set"),
]

DOCS = Path(__file__).parents[3] / "docs"
SECONDS = 75  # of requests, so that the charts of the status page show traffic
LARGEST = 120_000  # bytes of a picture, since every clone of the repository contains it
FILES = {
    "budget 2026.csv": 48_213, "Harbour at dawn.jpg": 2_411_904, "interview-3.mp3": 8_123_400,
    "interview-12.mp3": 6_700_210, "notes.md": 3_117, "renew-certificates.py": 5_406, "scans.zip": 1_204_771,
}  # fmt: skip
PICTURES = {
    "listing": ("", "releases/", "light", (1000, 900)),
    "listing-dark": ("ann", "team/home/", "dark", (1000, 700)),
}


def _fill(demo):
    generator = random.Random(1)
    for name, size in FILES.items():
        stored = Proxy(None, demo.rstrip("/")).upload("/team/home/", name, generator.randbytes(size), user="ann:demo")
        assert stored.status in (201, 409)


def _take_screenshot(browser, name, size, scheme):
    clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
    options = {"captureBeyondViewport": True, "clip": clip}
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    picture = b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", options)["data"])
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert len(picture) < LARGEST, len(picture)
    (DOCS / f"{name}.png").write_bytes(picture)


@pytest.mark.parametrize("name", PICTURES)
def test_screenshots_of_listings_are_taken(browser, demo, name):
    """The same pages are taken at the same size, in the light and in the dark scheme."""
    user, path, scheme, size = PICTURES[name]
    _fill(demo)
    set_size(browser, *size)
    browser.get(demo.replace("://", f"://{user}:demo@") + path if user else demo + path)
    browser.execute_script("document.documentElement.style.overflow = 'hidden'")
    _take_screenshot(browser, name, size, scheme)


def test_a_screenshot_of_the_status_page_is_taken(browser, demo, status_page):
    """The status page is taken after some requests, so that its charts show traffic."""
    weights = {
        "/press/spring.html": 8, "/releases/": 3, "/releases/latest/tool.tar.gz": 5, "/nowhere": 1, "/team/home/": 1,
        "/press/a.html": 1,
    }  # fmt: skip
    end, generator = time.monotonic() + SECONDS, random.Random(2)
    while time.monotonic() < end:
        for path in generator.choices([*weights], weights=weights.values(), k=generator.randrange(1, 6)):
            Proxy(None, demo.rstrip("/")).request("GET", path)
        time.sleep(0.3)
    set_size(browser, 1220, 860)
    browser.get(f"{status_page}?path=/press/spring.html")
    _take_screenshot(browser, "status", (1220, 860), "light")


def test_a_screenshot_of_a_draft_is_taken(browser, demo, status_page):
    """A rewrite of the gallery is edited, and tried on some requests."""
    paths = ("/press/spring.html", "/press/autumn.html", "/releases/", "/help/first-steps.html", "/index.html")
    generator = random.Random(3)
    for path in generator.choices(paths, weights=(3, 2, 3, 2, 6), k=90):
        Proxy(None, demo.rstrip("/")).request("GET", path)
    set_size(browser, 900, 1300)
    browser.get(f"{status_page}draft")
    script = "return [...document.querySelectorAll('option')].find(o => /^site/.test(o.text)).value"
    file = browser.execute_script(script)
    browser.get(f"{status_page}draft?{urlencode({'file': file})}")
    browser.execute_script(
        "const box = document.getElementById('text');"
        "box.value = box.value.replaceAll('/archive/press/', '/archive/2026/').replace(/^#.*\\n/gm, '')"
    )
    find(browser, ".draft .act button").click()
    eventually(lambda: browser.find_elements("id", "result"))
    find(browser, ".changed summary").click()
    browser.execute_script(
        "document.querySelector('.draft .act code').textContent = '/etc/tornado-proxy/rules/site.rules';"
        "document.getElementById('text').rows = 9;"
        "document.documentElement.style.overflow = 'hidden'; window.scrollTo(0, 0)"
    )
    _take_screenshot(browser, "draft", (900, 1140), "light")


LARGEST_FILM = 1_000_000  # bytes
_README = (DOCS.parent / "README.md").read_text(encoding="utf-8")
_EDITOR = """<body style="margin:0;height:100vh;background:#12161d;color:#e4e8ef;font:15px/1.6 monospace">
<p style="margin:0;padding:6px 18px;background:#29303b">site.rules</p><pre style="margin:14px 18px">{}</pre>"""


def _frame(browser, editor, place, width, heights):
    """A picture of the editor above the status page, scrolled to a place."""
    from PIL import Image  # noqa: PLC0415 - only the film needs it

    status, pictures = browser.current_window_handle, []
    for handle in (editor, status):
        browser.switch_to.window(handle)
        set_size(browser, width, heights[len(pictures)])
        if handle == status:
            browser.execute_script("document.querySelector(arguments[0]).scrollIntoView()", place)
        pictures.append(Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB"))
    joined = Image.new("RGB", (width, sum(heights)))
    joined.paste(pictures[0], (0, 0))
    joined.paste(pictures[1], (0, heights[0]))
    return joined


def test_a_film_of_an_edit_is_taken(browser, printed, tmp_path):
    """A rule is typed, the service reloads, and a request that was a 404 is explained as a 200."""
    pytest.importorskip("PIL", reason="the film needs Pillow")
    (rules,) = blocks(_README, "rules")
    configuration = blocks(_README, "yaml")[0]
    endpoint = re.search(r"the bucket \S+ at (\S+),", printed)[1]
    configuration = re.sub("port: (8081|9091)", "port: 0", configuration).replace("http://127.0.0.1:9000", endpoint)
    source = tmp_path / "site.rules"
    head, rewrite, _ = re.fullmatch(r"(.*moved in 2024\.\n)(.*?\n)(.*)", rules, re.DOTALL).groups()
    empty = head + '\n    test "/index.html" -> unchanged\n}\n'
    source.write_text(empty)
    os.environ["S3_KEY"] = "demo"
    frames, times = [], []
    with start_proxy(tmp_path, configuration) as proxy:
        browser.get(f"{Admin.of(proxy).url}/-/?path=/press/spring.html")
        status = browser.current_window_handle
        browser.switch_to.new_window("tab")
        editor = browser.current_window_handle

        def take(text, seconds, cursor="", place="#explain"):
            browser.switch_to.window(editor)
            page = _EDITOR.format(html.escape(text) + cursor)
            browser.get("about:blank")
            browser.execute_script("document.documentElement.innerHTML = arguments[0]", page)
            browser.switch_to.window(status)
            frames.append(_frame(browser, editor, place, 900, (250, 520)))
            times.append(round(seconds * 1000))

        take(empty, 2.5)
        for end in (*range(4, len(rewrite), 9), len(rewrite)):
            take(head + rewrite[:end], 0.12, "\N{FULL BLOCK}")
        source.write_text(rules)
        take(rules, 1)
        browser.switch_to.window(status)
        eventually(lambda: "generation 2" in find(browser, "#summary").text.lower())
        take(rules, 3, place="#reloads")
        browser.refresh()
        take(rules, 6)
        browser.switch_to.window(editor)
        browser.close()
        browser.switch_to.window(status)
    film = DOCS / "edit.webp"
    frames[0].save(film, save_all=True, append_images=frames[1:], duration=times, loop=0, quality=70, method=6)
    assert film.stat().st_size < LARGEST_FILM
