"""A client of the admin listener of a running service, and a service in front of an endless S3."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from endless_s3 import endless_s3
from running import Proxy, exchange, start_proxy

CONFIGURATION = """
server: {{port: 0}}
internalServer: {{port: 0}}
s3: {{probeInterval: 1h}}
rules: [rules]
targets:
  site:
    mount: {{path: [/]}}
    bucket: {{name: some-bucket, s3Endpoint: "{endpoint}", s3ForcePathStyle: true,
              credentials: {{accessKey: {{env: ACCESS}}, secretKey: {{env: SECRET}}}}}}
"""
RULES = 'target site {{ rewrite `^/(?P<name>[a-z]+)$` -> "/{}/$name.txt" }}\n'

_LIMIT = 60  # seconds

T = TypeVar("T")


def eventually(function: Callable[[], T], limit: float = _LIMIT) -> T:
    """Calls a function until its result is true, and returns the result; fails after `limit` seconds.

    It is called the less often the longer it takes: its calls take time of what it waits for.
    """
    begun = time.monotonic()
    while not (result := function()):
        waited = time.monotonic() - begun
        assert waited < limit, f"never true: {function}"
        time.sleep(min(max(0.01, waited / 10), 0.5))
    return result


@dataclass(frozen=True)
class Admin:
    """A client of an admin listener."""

    url: str

    @classmethod
    def of(cls, proxy: Proxy) -> Admin:
        """The client of a running service, whose log names the listener's URL."""
        return cls(next(line.rsplit(" ", 1)[1] for line in proxy.lines if "admin listener" in line))

    def request(self, method: str, path: str, **headers: str) -> tuple[int, str]:
        """Sends a request and returns the status and the text of the answer."""
        host, _, port = self.url.removeprefix("http://").partition(":")
        answer = exchange((host, int(port)), method, path, headers=headers)
        return answer.status, answer.text

    def is_ready(self) -> bool:
        """Whether it listens, and says that the service is ready."""
        with suppress(OSError):
            return self.request("GET", "/-/ready")[0] == 200
        return False

    def status(self) -> dict[str, Any]:
        """The document at `/-/status`."""
        return json.loads(self.request("GET", "/-/status")[1])

    def reload(self) -> tuple[int, dict[str, Any]]:
        """Reloads the configuration and returns the status and the report."""
        code, text = self.request("POST", "/-/reload")
        return code, json.loads(text)

    def metric(self, name: str) -> float:
        """The sum of a metric's samples."""
        text = self.request("GET", "/metrics")[1]
        return sum(float(value) for value in re.findall(rf"^{name}(?:\{{[^}}]*\}})? (\S+)$", text, re.MULTILINE))

    def wait_for_status(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Waits until the status meets a condition, and returns it."""

        def status_if_met() -> dict[str, Any] | None:
            status = self.status()
            return status if condition(status) else None

        return eventually(status_if_met)


@contextmanager
def service(folder: Path, *options: str, rules: str = RULES.format("first")) -> Iterator[tuple[Proxy, Admin]]:
    """Starts a service that answers `/NAME` with the object `first/NAME.txt`, and yields it with its admin listener."""
    with (
        endless_s3() as (endpoint, _),
        start_proxy(folder, CONFIGURATION.format(endpoint=endpoint), *options, site=rules) as proxy,
    ):
        yield proxy, Admin.of(proxy)
