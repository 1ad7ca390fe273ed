"""docs/sign-in.md describes sign-in correctly."""

import json
import re
from pathlib import Path

import pytest
from fenced import blocks
from programs import ROOT

from tornado_proxy.auth.authenticator import policy_input
from tornado_proxy.config.loading import compile_configuration
from tornado_proxy.config.providers import OidcProvider
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.rules.diagnostic import SourceFile
from tornado_proxy.semantics.request import Request, RequestPath, User

TEXT = (ROOT / "docs" / "sign-in.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", blocks(TEXT, "yaml"))
def test_every_example_loads(text):
    """Each example of the page compiles without a diagnostic."""
    loaded = compile_configuration(SourceFile("proxy.yaml", text), Path(), unresolved)
    assert [diagnostic.message for diagnostic in loaded.diagnostics] == []


def test_the_input_of_a_policy_is_the_documented_one():
    user = User("ann", "OIDC", "ann@example.org", ("editors",), "Ann Ash", "Ann", "Ash", email_verified=True)
    path, headers = RequestPath("/drafts/plan.txt"), (("Host", "files.example.org"),)
    request = Request("GET", "files.example.org", path, "x=1", (("x", "1"),), headers, "https", "192.0.2.7")
    (documented,) = blocks(TEXT, "json")
    assert policy_input(user, request, {"site": "press"}) == json.loads(documented)


def test_the_pages_of_a_provider_are_the_documented_ones():
    provider = OidcProvider("NAME", GuardedUrl("https://id.example"), "me")
    pages = re.findall(r"^\| `(/auth\S*)` \(`(\w+)`\)", TEXT, re.MULTILINE)
    assert pages == [(path, f"{step}Path") for step, path in provider.pages.items()]
