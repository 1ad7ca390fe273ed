"""Each file of the gallery of rules is formatted and passes its own tests, and the demo loads it."""

from dataclasses import replace

import pytest
from fenced import blocks
from programs import ROOT

from tornado_proxy.cli.demo import read_demo
from tornado_proxy.config.loading import load as load_configuration
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.routing.decide import simulate
from tornado_proxy.routing.mounts import Mounts, sites
from tornado_proxy.routing.plan import Refuse, VisitProvider
from tornado_proxy.routing.request import read_request
from tornado_proxy.rules import load
from tornado_proxy.rules.diagnostic import SourceFile
from tornado_proxy.rules.expectations import evaluate
from tornado_proxy.rules.parser import parse
from tornado_proxy.rules.tree import print_document
from tornado_proxy.semantics.request import User
from tornado_proxy.service.snapshot import compile_snapshot

GALLERY = sorted((ROOT / "rules").glob("*.rules"))


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.name)
def test_a_file_of_the_gallery_is_formatted(path):
    text = path.read_text(encoding="utf-8")
    assert print_document(parse(SourceFile(path.name, text)).document) == text


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.name)
def test_a_file_of_the_gallery_passes_its_own_tests(path):
    """All tests of a file pass, and it has at least as many tests as rewrites."""
    for rule_set in load(path).values():
        assert len(rule_set.tests) >= len(rule_set.rewrites)
        assert [test.key for test in rule_set.tests if not evaluate(rule_set, test).passed] == []


def test_the_demo_loads_without_diagnostics():
    configuration = compile_snapshot(read_demo("http://127.0.0.1:9000"))
    assert (configuration.usable, configuration.diagnostics) == (True, ())


DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SAMPLES = [
    (each.name, text)
    for each in DOCUMENTS
    for text in blocks(each.read_text(encoding="utf-8"), "rules")
    if text.startswith("target ")
]


@pytest.mark.parametrize(("name", "text"), [*SAMPLES, *((path.name, path.read_text()) for path in GALLERY)])
def test_no_key_of_a_sample_leads_to_the_files_of_another_user(tmp_path, name, text):
    """Where a user's name decides, another user reaches the same object neither by the path nor by the new key."""
    (tmp_path / "sample.rules").write_text(text, encoding="utf-8")
    for rule_set in load(tmp_path / "sample.rules").values():
        for test in rule_set.tests:
            if test.user is None or test.user.username not in test.expected:
                continue
            for key in (test.key, test.expected):
                asked = replace(test, key=key, user=User("mallory"))
                assert not evaluate(rule_set, asked).passed, f"{name}: mallory reads `{test.expected}` at `{key}`"


CONFIGURATIONS = [
    pytest.param(text, id=f"{each.name}:{number}")
    for each in DOCUMENTS
    for number, text in enumerate(blocks(each.read_text(), "yaml"))
    if "\n    resources:" in text
    # The one is another program's, the other the sample of mistakes.
    if "  timeouts:" not in text and "nmae" not in text
]


@pytest.mark.parametrize("text", CONFIGURATIONS)
def test_a_sample_configuration_is_closed_to_strangers(tmp_path, text):
    """Outside of public paths, a sample with access rules gives no file to anyone who is not signed in or not listed."""
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    loaded = load_configuration(tmp_path / "config.yaml", {}, unresolved)
    assert loaded.settings is not None, loaded.diagnostics
    mounts = Mounts(sites(loaded.settings.targets, {}), loaded.settings.oidc_providers, loaded.settings.list_targets)
    for target in filter(lambda each: each.resources, loaded.settings.targets):
        lists_users = any(each.users or getattr(each.authorization, "accesses", ()) for each in target.resources)
        for user in (None, User("mallory")) if lists_users else (None,):
            request = read_request(f"{target.mount.paths[0]}private/file.txt", host=target.mount.host)
            plan = simulate(mounts, request, user).plan
            assert plan
            assert all(isinstance(step, Refuse | VisitProvider) for step in plan), f"{user} reads {request.path}"
