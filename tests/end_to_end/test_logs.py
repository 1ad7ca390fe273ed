"""The log of a running service, whoever reads it and however."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from administering import CONFIGURATION, RULES, Admin
from endless_s3 import endless_s3
from running import Proxy


@contextmanager
def _unread(folder, *options: str) -> Iterator[tuple[Proxy, Admin]]:
    """A service whose standard error nobody reads once it has said where it listens."""
    (folder / "rules").mkdir()
    (folder / "rules" / "site.rules").write_text(RULES.format("first"))
    with endless_s3() as (endpoint, _):
        (folder / "proxy.yaml").write_text(CONFIGURATION.format(endpoint=endpoint))
        command = [sys.executable, "-m", "tornado_proxy", "serve", "--config", str(folder / "proxy.yaml"), *options]
        environment = {**os.environ, "ACCESS": "test", "SECRET": "test"}
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
            try:
                proxy = Proxy(process, "")
                for line in process.stderr:
                    proxy.lines.append(line.rstrip("\n"))
                    if found := re.search(r"listening on (http://\S+)", line):
                        proxy.url = found[1]
                        break
                yield proxy, Admin.of(proxy)
            finally:
                process.kill()


@pytest.mark.parametrize("options", [(), ("--workers", "2")])
def test_a_log_that_nobody_reads_stops_nothing(tmp_path, options):
    """Requests are answered, operators too, and the service ends when it is told to."""
    with _unread(tmp_path, *options) as (proxy, admin):
        # More than the pipe holds, in few requests.
        for number in range(100):
            assert proxy.request("GET", f"/{number}{'x' * 8000}").status in (200, 400, 404)
        assert admin.ask("GET", "/-/healthy")[0] == 200
        assert admin.reload()[0] == 200
        proxy.process.send_signal(signal.SIGTERM)
        assert proxy.process.wait(timeout=15) == 0


def test_a_reader_that_comes_back_finds_every_line(tmp_path):
    """What was logged while nobody read is written when somebody does, in order, up to the last."""
    with _unread(tmp_path) as (proxy, _):
        for number in range(100):
            proxy.request("GET", f"/{number}-{'x' * 900}")
        proxy.process.send_signal(signal.SIGTERM)
        lines = [line for line in proxy.process.stderr if " path=/" in line]
    assert [int(re.search(r"path=/(\d+)-", line)[1]) for line in lines] == list(range(100))
