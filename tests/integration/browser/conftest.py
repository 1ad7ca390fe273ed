"""The demo, and a browser that looks at it; without one, the tests are skipped."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

import pytest
from running import start_demo

_CURE = "`tests/integration/install browser` installs it"

# No sandbox: tests may run as root. The rest keeps the browser from asking anybody but the demo.
_OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1000,800",
]


@pytest.fixture(scope="session")
def demo(tmp_path_factory) -> Iterator[str]:
    """The URL of a running demo."""
    with start_demo(tmp_path_factory.mktemp("demo")) as printed:
        found = re.search(r"http://\S+", printed)
        assert found
        yield found[0]


@pytest.fixture(scope="session")
def browser(tmp_path_factory) -> Iterator[object]:
    """A browser with a profile of its own."""
    webdriver = pytest.importorskip("selenium.webdriver", reason=_CURE)
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no `{program}`; {_CURE}")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for option in (*_OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    yield driver
    driver.quit()
