"""The demo and a browser; the tests are skipped if no browser is installed."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from programs import part, program
from running import start_demo

# The tests may run as root, which needs --no-sandbox. The other options prevent requests to other hosts.
_OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1000,800",
]  # fmt: skip


@pytest.fixture(scope="session")
def printed(tmp_path_factory) -> Iterator[str]:
    """The output of a running demo."""
    with start_demo(tmp_path_factory.mktemp("demo")) as output:
        yield output


@pytest.fixture(scope="session")
def demo(printed) -> str:
    """The URL of a running demo."""
    return re.findall(r"http://\S+", printed)[0]


@pytest.fixture(scope="session")
def status_page(printed) -> str:
    """The URL of the demo's status page."""
    return re.findall(r"http://\S+/-/", printed)[0]


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core, which finds violations of accessibility."""
    return part("axe/node_modules/axe-core/axe.min.js", "browser").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def browser(tmp_path_factory) -> Iterator[object]:
    """A browser with its own profile."""
    with start_browser(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="session")
def browser_starter():
    """The function that starts another browser."""
    return start_browser


@contextmanager
def start_browser(profile: Path, *more: str) -> Iterator[object]:
    """Starts a browser with the usual and more options."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="`tests/integration/install browser` installs it")
    service = webdriver.ChromeService(program("chromedriver", "browser"))
    options = webdriver.ChromeOptions()
    options.binary_location = program("chromium", "browser")
    for option in (*_OPTIONS, *more, f"--user-data-dir={profile}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, service)
    try:
        yield driver
    finally:
        driver.quit()
