"""The admin listener of a running service, asked as an operator asks it; and a service in front of an endless S3."""

from __future__ import annotations

import http.client
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from endless_s3 import endless_s3
from running import Proxy, start_proxy

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


def eventually(look: Callable[[], T], limit: float = _LIMIT) -> T:
    """What a look finds, once it finds something; looks again for a while."""
    end = time.monotonic() + limit
    while not (found := look()):
        assert time.monotonic() < end, f"never: {look}"
        time.sleep(0.01)
    return found


@dataclass(frozen=True)
class Admin:
    """An admin listener."""

    url: str

    @classmethod
    def of(cls, proxy: Proxy) -> Admin:
        """That of a service that has said where it is."""
        return cls(next(line.rsplit(" ", 1)[1] for line in proxy.lines if "admin listener" in line))

    def ask(self, method: str, path: str, **headers: str) -> tuple[int, str]:
        """The status and the text of an answer."""
        with closing(http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=_LIMIT)) as connection:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def status(self) -> dict[str, Any]:
        """What `/-/status` says."""
        return json.loads(self.ask("GET", "/-/status")[1])

    def reload(self) -> tuple[int, dict[str, Any]]:
        """Reload; the status and the report."""
        code, text = self.ask("POST", "/-/reload")
        return code, json.loads(text)

    def metric(self, name: str) -> float:
        """The sum of a metric's samples."""
        text = self.ask("GET", "/metrics")[1]
        return sum(float(value) for value in re.findall(rf"^{name}(?:\{{[^}}]*\}})? (\S+)$", text, re.MULTILINE))

    def wait(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The status, once it is as it should be."""

        def look() -> dict[str, Any] | None:
            status = self.status()
            return status if condition(status) else None

        return eventually(look)


@contextmanager
def service(folder: Path, *options: str, rules: str = RULES.format("first")) -> Iterator[tuple[Proxy, Admin]]:
    """A service whose `/NAME` is answered with `some/NAME.txt`, and its admin listener."""
    with (
        endless_s3() as (endpoint, _),
        start_proxy(folder, CONFIGURATION.format(endpoint=endpoint), *options, site=rules) as proxy,
    ):
        yield proxy, Admin.of(proxy)
