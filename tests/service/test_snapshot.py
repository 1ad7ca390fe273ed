"""Snapshots: every change is noticed, and all mistakes are reported."""

import math
import os
from pathlib import Path

import pytest
from files import CONFIGURATION, ENVIRONMENT, Files
from msgspec.structs import replace

from tornado_proxy.config.secrets import Secret, SecretMissing
from tornado_proxy.rules.diagnostic import Severity, SourceFile
from tornado_proxy.service.certificates import FetchedDocuments
from tornado_proxy.service.snapshot import SnapshotReader, compile_snapshot, compile_text, read_snapshot, read_to_check


@pytest.fixture
def files(tmp_path):
    """Files with one rule file."""
    return Files.create(tmp_path, site='rewrite a `^/a$` -> "/b"')


def _edit_rules(files):
    files.write('rewrite `^/a$` -> "/c"')


def _add_a_file(files):
    files.write("", "another")


def _edit_configuration(files):
    files.configure(files.configuration.read_text().replace("some-bucket", "other-bucket"))


EDITS = {
    "other rules": _edit_rules,
    "another file": _add_a_file,
    "another name": lambda files: files.path().rename(files.path("renamed")),
    "no file": lambda files: files.path().unlink(),
    "another configuration": _edit_configuration,
    "a broken configuration": lambda files: files.configure("targets: ["),
    "no secret": lambda files: (files.folder / "secret").unlink(),
    "another secret": lambda files: (files.folder / "secret").write_text("changed\n"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_changes_the_digest(files, name):
    """Rules, names of files, the configuration and missing secrets are part of it, no secret, which it would let guess."""
    before = files.read()
    EDITS[name](files)
    after = files.read()
    assert (after.digest != before.digest) is (name != "another secret")
    assert not after.is_as(before)
    assert read_snapshot(files.configuration, ENVIRONMENT, before) == after


def test_a_changed_secret_in_a_url_keeps_the_digest(files):
    """A query of a URL, which may be a secret, is noticed too, and is not part of the digest."""
    text = files.configuration.read_text()
    hook = "    actions: {{GET: {{config: {{webhooks: [{{method: POST, url: 'https://hooks.example/?t={}'}}]}}}}}}\n"
    files.configure(text + hook.format("one"))
    before = files.read()
    assert before.settings is not None
    files.configure(text + hook.format("two"))
    assert files.read().digest == before.digest
    assert not files.read().is_as(before)


@pytest.mark.parametrize("added", ["limits: {idleTimeout: 75s}\n", "# a remark\n"], ids=["a default", "a comment"])
def test_what_says_nothing_new_keeps_the_digest(files, added):
    """The digest is of what the options say, so that a new option of a later version does not change it."""
    before = files.read().digest
    files.configure(CONFIGURATION + added)
    assert files.read().digest == before


def test_the_digest_does_not_depend_on_the_directory(files, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    other = Files.create(tmp_path / "elsewhere", site='rewrite a `^/a$` -> "/b"')
    assert other.read().digest == files.read().digest


def test_the_repr_has_no_secret(files):
    snapshot = files.read()
    assert "s3cret" not in repr((snapshot, [*snapshot.__rich_repr__()]))


def test_all_sources_are_watched(files):
    assert [path.name for path in files.read().places] == ["proxy.yaml", "rules", "secret"]


def test_a_credential_is_watched(files):
    (files.folder / "credentials").mkdir()
    credential = files.folder / "credentials" / "s3"
    credential.write_text("first\n")
    files.configure(files.configuration.read_text().replace("{path: secret}", "{credential: s3}"))
    environment = {**ENVIRONMENT, "CREDENTIALS_DIRECTORY": str(credential.parent)}
    before = read_snapshot(files.configuration, environment)
    credential.write_text("second\n")
    assert before.places[-1] == credential
    assert not read_snapshot(files.configuration, environment, before).is_as(before)


def test_a_secret_that_appears_while_it_is_read_is_missing_everywhere(files):
    """Else the snapshot would have it and miss it at once, and a reading of the same files would find nothing new."""
    files.configure(CONFIGURATION.replace("{env: ACCESS}", "{path: secret}"))
    asked = []

    def find(reference):
        asked.append(reference)
        if len(asked) == 1:
            raise SecretMissing("not yet")
        return Secret("", "s3cret")

    text = SourceFile(str(files.configuration), files.configuration.read_text())
    snapshot = compile_text(text, ENVIRONMENT, find)
    assert (len(snapshot.diagnostics), snapshot.secrets) == (2, {asked[0]: None})


def test_a_new_secret_is_noticed(files):
    (files.folder / "secret").unlink()
    before = files.read()
    (files.folder / "secret").write_text("s3cret")
    assert read_snapshot(files.configuration, ENVIRONMENT, before).settings


@pytest.mark.parametrize(("due", "is_compiled_again"), [(math.inf, False), (0.0, True)])
def test_certificates_are_fetched_when_they_are_due(files, due, is_compiled_again):
    known = replace(files.read(), fetched=FetchedDocuments(due=due))
    snapshot = read_snapshot(files.configuration, ENVIRONMENT, known)
    assert (snapshot.settings is not known.settings) == is_compiled_again


def test_an_unchanged_configuration_is_compiled_once(files):
    before = files.read()
    files.write("", "another")
    assert read_snapshot(files.configuration, ENVIRONMENT, before).settings is before.settings


def _edited_while_read(files, *edits):
    """A reader in whose pauses these edits are made, one after the other."""
    left = iter(edits)

    def pause(_seconds: float) -> None:
        if (edit := next(left, None)) is not None:
            edit(files)

    return SnapshotReader(files.configuration, ENVIRONMENT, pause)


def test_an_edit_in_progress_is_read_again(files):
    assert _edited_while_read(files, _edit_rules, _add_a_file)().digest == files.read().digest


def test_files_that_never_settle_are_read(files):
    """Files that never settle are read, so that a service can start, and the snapshot is not settled."""
    number = iter(range(1000))
    snapshot = SnapshotReader(files.configuration, ENVIRONMENT, lambda _: files.write(f"# {next(number)}"))()
    assert snapshot.rules.files
    assert not snapshot.settled


def _truncate(files):
    files.path().write_bytes(b"")


def test_an_emptied_file_is_read_again(files):
    """An editor can truncate a file some time before it writes it."""
    reader = _edited_while_read(files, *[None] * 30, _edit_rules)
    reader()
    _truncate(files)
    assert reader().rules.files[0].data


def test_an_empty_file_is_accepted_after_a_second(files):
    pauses: list[float] = []
    reader = SnapshotReader(files.configuration, ENVIRONMENT, pauses.append)
    reader()
    _truncate(files)
    emptied = reader()
    assert (emptied.rules.files[0].data, emptied.settled) == (b"", True)
    assert 0.9 < sum(pauses) < 1.1


def _link(files):
    (files.folder / "rules").rename(files.folder / "revision")
    (files.folder / "rules").symlink_to("revision")


def _unlink(files):
    (files.folder / "rules").unlink()


def _link_another_directory(files):
    (files.folder / "next").mkdir()
    (files.folder / "next" / "site.rules").write_text('target site { rewrite `^/a$` -> "/new" }')
    (files.folder / "rules").symlink_to("next")


def test_a_missing_link_is_read_again(files):
    """A link that is missing while it is replaced is not an edit."""
    _link(files)
    reader = _edited_while_read(files, *[None] * 30, _link_another_directory)
    reader()
    _unlink(files)
    snapshot = reader()
    assert (snapshot.rules.diagnostics, snapshot.settled) == ((), True)
    assert b"/new" in snapshot.rules.files[0].data


def test_a_missing_directory_is_reported_after_a_second(files):
    """A link that is missing for a second is a mistake, and later readings do not wait for it."""
    pauses: list[float] = []
    reader = SnapshotReader(files.configuration, ENVIRONMENT, pauses.append)
    _link(files)
    reader()
    _unlink(files)
    missing = reader()
    assert ([diagnostic.code for diagnostic in missing.rules.diagnostics], missing.settled) == (["no-rule-files"], True)
    assert 0.9 < sum(pauses) < 1.1
    pauses.clear()
    _edit_configuration(files)
    assert reader().settled
    assert sum(pauses) < 0.1


def test_unchanged_files_are_read_once(files):
    pauses: list[float] = []
    reader = SnapshotReader(files.configuration, ENVIRONMENT, pauses.append)
    first = reader()
    assert (reader().digest, len(pauses)) == (first.digest, 1)


def test_a_missing_configuration_is_reported(tmp_path):
    snapshot = read_snapshot(tmp_path / "none.yaml", {})
    assert [diagnostic.code for diagnostic in snapshot.diagnostics] == ["unreadable-file"]
    assert snapshot.watched == (tmp_path / "none.yaml",)


def test_mistakes_of_all_files_are_reported_in_one_run(files):
    files.write('rewrite `^/(` -> "/b"')
    files.write("rewrit", "other")
    configuration = files.load()
    assert not configuration.usable
    names = {diagnostic.span.source.name.rpartition("/")[2] for diagnostic in configuration.diagnostics}
    assert names == {"site.rules", "other.rules"}


RESOURCES = """    resources: [{path: /**, provider: staff, basic: {credentials: [{user: ann, password: {env: HASH}}]}}]
authProviders: {basic: {staff: {realm: Files}}}
"""


@pytest.mark.parametrize(
    ("text", "code", "usable"),
    [("$2b$nonsense", "unreadable-hash", False), ("{SHA}nonsense=", "doubtful-password", True)],
    ids=["invalid", "unsupported"],
)
def test_a_hash_that_cannot_be_read_is_reported(files, text, code, usable):
    """With its place, without its text; an unsupported one would be a plain password, which is possible but unlikely."""
    files.configure(files.configuration.read_text() + RESOURCES)
    configuration = compile_snapshot(read_snapshot(files.configuration, {**ENVIRONMENT, "HASH": text}))
    (diagnostic,) = configuration.diagnostics
    assert (diagnostic.code, diagnostic.span.text, configuration.usable) == (code, "password", usable)
    assert "nonsense" not in diagnostic.message


def test_missing_rules_are_an_error(files):
    files.configure(files.configuration.read_text().replace("[rules]", "[rules, nowhere]"))
    (diagnostic,) = files.load().diagnostics
    assert (diagnostic.code, diagnostic.span.text) == ("no-rule-files", "nowhere")


def test_a_configuration_without_rules_needs_no_rule_files(files):
    files.configure(files.configuration.read_text().replace("rules: [rules]\n", ""))
    assert files.load().usable


def test_a_check_without_credentials_checks_the_rest(files):
    """A missing systemd credential is only reported, and all other mistakes are found."""
    text = CONFIGURATION.replace("{path: secret}", "{credential: s3-key}")
    files.configure(text)
    configuration = compile_snapshot(read_to_check(files.configuration, ENVIRONMENT))
    assert configuration.usable
    assert [(diagnostic.severity, diagnostic.message) for diagnostic in configuration.diagnostics] == [
        (Severity.INFO, "not checked: the systemd credential `s3-key`, which only the service has")
    ]
    files.configure(text.replace("{env: ACCESS}", "{env: MISSING}"))
    assert not compile_snapshot(read_to_check(files.configuration, ENVIRONMENT)).usable
    # With a directory of credentials, a missing credential is an error.
    environment = {**ENVIRONMENT, "CREDENTIALS_DIRECTORY": str(files.folder)}
    assert not compile_snapshot(read_to_check(files.configuration, environment)).usable


def test_templates_belong_to_the_snapshot(files):
    """Templates are watched and part of the digest, and rules can call their helpers."""
    files.configure(files.configuration.read_text() + "templates: {helpers: [h.tpl], put: {path: h.tpl}}\n")
    (files.folder / "h.tpl").write_text('{{ define "a" }}one{{ end }}')
    files.write('rewrite `^/a$` -> go `/{{ template "a" . }}`')
    before = files.read()
    assert files.folder / "h.tpl" in before.watched
    configuration = compile_snapshot(before)
    assert configuration.usable
    assert configuration.pages.pages.find(None, "put") is not None
    again = compile_snapshot(files.read(), configuration)
    assert again.pages is configuration.pages  # unchanged, so not compiled again
    assert configuration.rule_sets["site"].rewrite("/a").key == "/one"
    assert str(files.folder / "h.tpl") in [file.name for file in configuration.snapshot.files]
    (files.folder / "h.tpl").write_text('{{ define "a" }}two{{ end }}')
    after = files.read()
    assert not after.is_as(before)
    assert compile_snapshot(after, configuration).rule_sets["site"].rewrite("/a").key == "/two"
    (files.folder / "h.tpl").write_text("{{ x }}")
    assert not files.load().usable
    (files.folder / "h.tpl").unlink()
    assert "unreadable-file" in [diagnostic.code for diagnostic in files.load().diagnostics]


def test_the_digest_is_that_of_every_machine(tmp_path):
    """Addresses and ports of the listeners differ between machines, and do not count; other options do."""
    files = Files.create(tmp_path)
    first = files.read()
    files.configure(CONFIGURATION.replace("{port: 0}", "{port: 8081, listenAddr: ''}", 1))
    elsewhere = files.read()
    assert (elsewhere.digest, elsewhere.is_as(first)) == (first.digest, False)
    files.configure(CONFIGURATION.replace("server: {port: 0}", "server: {port: 0, gracePeriod: 1s}", 1))
    assert files.read().digest != first.digest


def test_a_link_to_nothing_may_have_any_name(files):
    """A name that is no text is told, and makes a digest."""
    Path(os.fsdecode(b"%s/x\xff.rules" % os.fsencode(files.path().parent))).symlink_to("nowhere")
    snapshot = files.read()
    assert [each.code for each in compile_snapshot(snapshot).diagnostics] == ["unreadable-file"]
    assert len(snapshot.digest) == 64
