"""Decisions of a real Open Policy Agent."""

import subprocess

import pytest
from administering import eventually
from coroutines import run
from programs import ROOT, part, until_end
from running import answers, free_port

from tornado_proxy.auth.authenticator import is_permitted
from tornado_proxy.config.providers import OpaServer
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.semantics.request import Request, RequestPath, User
from tornado_proxy.wire.dialing import HttpFetcher

pytestmark = pytest.mark.integration

_DOCS = ROOT / "docs" / "sign-in.md"
ANN, BEN = User("ann", "OIDC", groups=("editors",)), User("ben", "OIDC")


@pytest.fixture(scope="module")
def opa(tmp_path_factory):
    """Runs Open Policy Agent with the policy of docs/sign-in.md; returns its URL."""
    program = part("opa/opa", "opa")
    policy = tmp_path_factory.mktemp("opa") / "files.rego"
    policy.write_text(_DOCS.read_text(encoding="utf-8").split("```rego\n")[1].split("```")[0])
    address = f"127.0.0.1:{free_port()}"
    command = (program, "run", "--server", "--addr", address, "--disable-telemetry", policy)
    with until_end(*command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL):
        eventually(lambda: answers(f"http://{address}/health"))
        yield f"http://{address}/v1/data/files"


def _permits(url, user, request):
    return run(is_permitted(OpaServer(GuardedUrl(url)), user, request, HttpFetcher()))


@pytest.mark.parametrize(
    ("user", "method", "path", "permitted"),
    [
        (ANN, "PUT", "/a.txt", True),
        (BEN, "GET", "/drafts/a.txt", True),
        (BEN, "PUT", "/drafts/a.txt", False),
        (BEN, "GET", "/a.txt", False),
    ],
)
def test_the_documented_policy_decides(opa, user, method, path, permitted):
    assert _permits(f"{opa}/allow", user, Request(method, "files.example", RequestPath(path))) is permitted


def test_a_missing_policy_permits_nothing(opa):
    assert _permits(f"{opa}/nothing", ANN, Request()) is False
