"""A start of the service imports no heavy module before it can answer requests."""

from __future__ import annotations

import json
import os
import subprocess
import sys

CONFIGURATION = """\
server: {listenAddr: 127.0.0.1, port: 0}
internalServer: {listenAddr: 127.0.0.1, port: 0}
rules: [site.rules]
targets:
  site:
    mount: {path: [/]}
    bucket:
      name: bucket
      s3Endpoint: http://127.0.0.1:9
      credentials: {accessKey: {env: KEY}, secretKey: {env: KEY}}
"""

SCRIPT = """
import json, os, sys
from tornado_proxy.cli.main import main
from tornado_proxy.service.run.systemd import Notifier
from tornado_proxy.wire.server import HttpServer

def end(*arguments):
    print(json.dumps([*sys.modules]), flush=True)
    os._exit(0)

{} = end
main(["serve", "--config", "proxy.yaml"])
"""

HEAVY = {
    "argon2",
    "bcrypt",
    "boto3",
    "botocore",
    "cryptography",
    "importlib.metadata",
    "jinja2",
    "joserfc",
    "markdown_it",
    "nh3",
    "opentelemetry",
    "prometheus_client",
    "tornado_proxy.admin.status",
    "tornado_proxy.auth.oidc",
    "tornado_proxy.lint",
    "tornado_proxy.service.run.supervisor",
    "gotemplate.template.nodes",
    "tornado_proxy.templates.jinja",
    "tornado_proxy.tools",
    "tornado_proxy.web.archive",
    "urllib3",
    "watchdog",
}


def test_requests_are_answered_before_heavy_modules_are_imported(tmp_path):
    """A GET of an object with a plain rule needs no boto3, no pages, no metrics and no linter."""
    rules = 'target site {\n  rewrite `^/a/(.*)$` -> "/b/$1"\n}\n'
    assert HEAVY & _imported(tmp_path, rules, until="HttpServer.add_sockets") == set()


def test_what_nobody_asked_for_is_never_imported(tmp_path):
    """A service without rewrites, uploads, pages and scrapes has none of these libraries in memory."""
    unused = {"boto3", "jinja2", "prometheus_client", "urllib3", "tornado_proxy.lint"}
    assert unused & _imported(tmp_path, "target site {\n}\n", until="Notifier.ready") == set()


def _imported(folder, rules, *, until):
    """Returns the modules that a service has imported when it calls a method."""
    (folder / "proxy.yaml").write_text(CONFIGURATION)
    (folder / "site.rules").write_text(rules)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | {"KEY": "x"}
    environment = {name: value for name, value in environment.items() if not name.lower().endswith("_proxy")}
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(until)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout, result.stderr
    return {*json.loads(result.stdout)}
