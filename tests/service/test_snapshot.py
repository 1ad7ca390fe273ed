"""Snapshots: every change shows in the digest, and all mistakes are reported."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from files import CONFIGURATION, ENVIRONMENT, Files

from tornado_proxy.lang.diagnostic import Severity
from tornado_proxy.service.certificates import FetchedDocuments
from tornado_proxy.service.snapshot import (
    SnapshotReader,
    compile_snapshot,
    compile_text,
    read_snapshot,
    read_to_check,
)


@pytest.fixture
def files(tmp_path):
    """A set with one rule file."""
    return Files.create(tmp_path, site='rewrite a `^/a$` -> "/b"')


def test_reading_twice_gives_the_same_digest(files):
    """The digest depends on the files alone."""
    assert files.read().digest == files.read().digest


def _edit_rules(files):
    files.write('rewrite `^/a$` -> "/c"')


def _add_a_file(files):
    files.write("", "another")


def _rename_a_file(files):
    files.path().rename(files.path("renamed"))


def _remove_all(files):
    files.path().unlink()


def _edit_configuration(files):
    files.configure(files.configuration.read_text().replace("some-bucket", "other-bucket"))


def _break_configuration(files):
    files.configure("targets: [")


def _change_a_secret(files):
    (files.folder / "secret").write_text("changed\n")


def _remove_a_secret(files):
    (files.folder / "secret").unlink()


@pytest.mark.parametrize(
    "change",
    [
        _edit_rules,
        _add_a_file,
        _rename_a_file,
        _remove_all,
        _edit_configuration,
        _break_configuration,
        _remove_a_secret,
    ],
)
def test_every_change_changes_the_digest(files, change):
    """Rules, names and configuration all count."""
    before = files.read()
    change(files)
    assert files.read().digest != before.digest
    assert not files.read().is_as(before)


def test_another_secret_makes_another_set_of_the_same_digest(files):
    """A changed secret is a change, but the digest does not depend on it, so nobody can test guesses."""
    before = files.read()
    _change_a_secret(files)
    assert files.read().digest == before.digest
    assert not files.read().is_as(before)


def test_the_same_files_have_the_same_digest_wherever_they_stand(files, tmp_path):
    """A checkout can be compared with what a machine has in force."""
    (tmp_path / "elsewhere").mkdir()
    other = Files.create(tmp_path / "elsewhere", site='rewrite a `^/a$` -> "/b"')
    assert other.read().digest == files.read().digest


def test_a_comment_in_the_configuration_changes_nothing(files):
    """The digest depends on the settings, not on their text."""
    before = files.read().digest
    files.configure("# a remark\n" + files.configuration.read_text())
    assert files.read().digest == before


def test_the_representation_does_not_give_secrets_away(files):
    """No secret shows in a log."""
    assert "s3cret" not in repr(files.read())


def test_places_are_where_changes_show(files):
    """The configuration, the places of rules and the files of secrets are watched."""
    assert [path.name for path in files.read().watched] == ["proxy.yaml", "rules", "secret"]


def test_a_credential_is_part_of_the_set(files):
    """A secret that systemd hands over is watched, and a new one is a new set."""
    (files.folder / "credentials").mkdir()
    credential = files.folder / "credentials" / "s3"
    credential.write_text("first\n")
    files.configure(files.configuration.read_text().replace("{path: secret}", "{credential: s3}"))
    environment = {**ENVIRONMENT, "CREDENTIALS_DIRECTORY": str(credential.parent)}
    before = read_snapshot(files.configuration, environment)
    credential.write_text("second\n")
    assert before.watched[-1] == credential
    assert not read_snapshot(files.configuration, environment, before).is_as(before)


@pytest.mark.parametrize(
    "change",
    [
        _edit_rules,
        _add_a_file,
        _remove_all,
        _edit_configuration,
        _break_configuration,
        _change_a_secret,
        _remove_a_secret,
    ],
)
def test_what_is_known_hides_no_change(files, change):
    """Reading with a set that is known finds what reading without one finds."""
    before = files.read()
    change(files)
    assert read_snapshot(files.configuration, ENVIRONMENT, before) == files.read()


def test_a_secret_that_comes_is_found(files):
    """A set that was known without its secret is compiled again once there is one."""
    (files.folder / "secret").unlink()
    before = files.read()
    (files.folder / "secret").write_text("s3cret")
    assert read_snapshot(files.configuration, ENVIRONMENT, before).configuration.settings


@pytest.mark.parametrize(("due", "is_compiled_again"), [(math.inf, False), (0.0, True)])
def test_certificates_are_fetched_again_when_they_are_due(files, due, is_compiled_again):
    """A configuration without a change is compiled again then, which fetches them."""
    known = replace(files.read(), fetched=FetchedDocuments(due=due))
    found = read_snapshot(files.configuration, ENVIRONMENT, known)
    assert (found.configuration is not known.configuration) == is_compiled_again


def test_a_configuration_that_stays_is_compiled_once(files):
    """Another reading reuses the compiled configuration."""
    before = files.read()
    files.write("", "another")
    assert read_snapshot(files.configuration, ENVIRONMENT, before).configuration is before.configuration


def test_a_set_can_be_made_of_texts(files):
    """The text of a configuration and kept rule files make the same snapshot again."""
    read = files.read()
    assert read.text is not None
    assert compile_text(read.text, ENVIRONMENT, (read.rules, read.templates)) == read


def test_other_settings_may_follow_from_a_set(files):
    """A set with other settings has the digest of the files."""
    read = files.read()
    settings = read.configuration.settings
    other = replace(settings, server=replace(settings.server, grace_period=1.0))
    changed = read.with_settings(other)
    assert (changed.configuration.settings, changed.digest) == (other, read.digest)


def test_an_edit_in_progress_is_waited_for(files):
    """Two looks must agree: a set that changes between them is read again."""
    edits = iter([_edit_rules, _add_a_file])

    def pause(_seconds: float) -> None:
        edit = next(edits, None)
        if edit:
            edit(files)

    settled = SnapshotReader(files.configuration, ENVIRONMENT, pause)()
    assert settled.digest == files.read().digest


def test_a_set_that_never_settles_is_read_and_says_so(files):
    """A file that changes for ever does not keep a service from starting; a reload may wait."""
    number = iter(range(1000))
    looked = SnapshotReader(files.configuration, ENVIRONMENT, lambda _: files.write(f"# {next(number)}"))()
    assert looked.rules.files
    assert not looked.settled


def _truncate(files):
    files.path().write_bytes(b"")


def test_a_file_that_was_emptied_is_given_time(files):
    """An editor that truncates a file first may take some time to write it."""
    edits = iter([None] * 30 + [_edit_rules])
    reader = SnapshotReader(files.configuration, ENVIRONMENT, lambda _: (next(edits, None) or (lambda _: None))(files))
    reader()
    _truncate(files)
    assert reader().rules.files[0].data


def test_a_file_that_stays_empty_is_empty(files):
    """An empty file may be meant, and is in force a second later."""
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


def _point_elsewhere(files):
    (files.folder / "next").mkdir()
    (files.folder / "next" / "site.rules").write_text('target site { rewrite `^/a$` -> "/new" }')
    (files.folder / "rules").symlink_to("next")


def test_a_linked_directory_that_vanishes_is_looked_at_again(files):
    """A link may be removed before the new one is made; that moment is not an edit."""
    _link(files)
    edits = iter([None] * 30 + [_point_elsewhere])
    reader = SnapshotReader(files.configuration, ENVIRONMENT, lambda _: (next(edits, None) or (lambda _: None))(files))
    reader()
    _unlink(files)
    read = reader()
    assert (read.rules.diagnostics, read.settled) == ((), True)
    assert b"/new" in read.rules.files[0].data


def test_a_directory_that_stays_away_is_reported(files):
    """A second later it counts as missing, and later readings do not wait for it."""
    pauses: list[float] = []
    reader = SnapshotReader(files.configuration, ENVIRONMENT, pauses.append)
    _link(files)
    reader()
    _unlink(files)
    missing = reader()
    assert ([each.code for each in missing.rules.diagnostics], missing.settled) == (["no-rule-files"], True)
    assert 0.9 < sum(pauses) < 1.1
    pauses.clear()
    _edit_configuration(files)
    assert reader().settled
    assert sum(pauses) < 0.1


def test_a_set_that_has_not_changed_is_looked_at_once(files):
    """An unchanged snapshot needs no second reading."""
    pauses: list[float] = []
    reader = SnapshotReader(files.configuration, ENVIRONMENT, pauses.append)
    first = reader()
    assert (reader().digest, len(pauses)) == (first.digest, 1)


def test_a_configuration_that_is_not_there_is_reported(tmp_path):
    """A missing file is a diagnostic, and is watched for."""
    snapshot = read_snapshot(tmp_path / "none.yaml", {})
    assert [each.code for each in snapshot.configuration.diagnostics] == ["unreadable-file"]
    assert snapshot.watched == (tmp_path / "none.yaml",)


def test_a_good_set_is_usable(files):
    """Settings and rule sets come together."""
    loaded = files.load()
    assert loaded.usable
    assert loaded.rule_sets["site"].rewrite("/a").key == "/b"


def test_rules_of_an_unknown_target_are_an_error(files):
    """A block that no target of the configuration has is wrong, and the target that was meant is named."""
    files.path("other").write_text("target sight {}\n")
    (diagnostic,) = files.load().diagnostics
    assert (diagnostic.code, diagnostic.help) == ("unknown-target", "did you mean `site`?")


def test_a_target_that_resembles_none_is_to_be_named(files):
    """If no target resembles it, the help is to name one."""
    files.path("other").write_text("target wholly-different {}\n")
    (diagnostic,) = files.load().diagnostics
    assert diagnostic.help == "name it in `targets` of the configuration"


def test_mistakes_of_all_files_are_reported_in_one_run(files):
    """A mistake in one file does not hide that in another."""
    files.write('rewrite `^/(` -> "/b"')
    files.write("rewrit", "other")
    loaded = files.load()
    assert not loaded.usable
    assert {each.span.source.name.rpartition("/")[2] for each in loaded.diagnostics} == {"site.rules", "other.rules"}


def test_a_bad_configuration_hides_no_mistake_of_its_own(files):
    """Without settings no rules are read, and the mistakes of the configuration are reported."""
    files.configure(files.configuration.read_text().replace("mount", "mounts"))
    loaded = files.load()
    assert loaded.settings is None
    assert not loaded.usable
    assert loaded.diagnostics


RESOURCES = """    resources: [{path: /**, provider: staff, basic: {credentials: [{user: ann, password: {env: HASH}}]}}]
authProviders: {basic: {staff: {realm: Files}}}
"""


def test_a_hash_that_cannot_be_checked_is_an_error_that_does_not_show_it(files):
    """A password that looks like a hash but is none is reported at load, with its place."""
    files.configure(files.configuration.read_text() + RESOURCES)
    loaded = compile_snapshot(read_snapshot(files.configuration, {**ENVIRONMENT, "HASH": "$2b$nonsense"}))
    (diagnostic,) = loaded.diagnostics
    assert (diagnostic.code, diagnostic.span.text) == ("unreadable-hash", "password")
    assert "nonsense" not in diagnostic.message


def test_a_hash_of_another_kind_is_a_warning(files):
    """It would count as the password itself, which is possible but unlikely."""
    files.configure(files.configuration.read_text() + RESOURCES)
    loaded = compile_snapshot(read_snapshot(files.configuration, {**ENVIRONMENT, "HASH": "{SHA}nonsense="}))
    (diagnostic,) = loaded.diagnostics
    assert (diagnostic.code, loaded.usable) == ("doubtful-password", True)
    assert "nonsense" not in diagnostic.message


def test_rules_that_are_not_there_are_an_error_where_they_are_named(files):
    """The place of the mistake is the configuration's."""
    files.configure(files.configuration.read_text().replace("[rules]", "[rules, nowhere]"))
    (diagnostic,) = files.load().diagnostics
    assert (diagnostic.code, diagnostic.span.text) == ("no-rule-files", "nowhere")


def test_a_configuration_without_rules_needs_no_rule_files(files):
    """`rules` may be left out."""
    files.configure(files.configuration.read_text().replace("rules: [rules]\n", ""))
    assert files.load().usable


def test_a_check_without_credentials_checks_the_rest(files):
    """A shell lacks the credentials of the service: each is named, and all other mistakes are found."""
    text = CONFIGURATION.replace("{path: secret}", "{credential: s3-key}")
    files.configure(text)
    loaded = compile_snapshot(read_to_check(files.configuration, ENVIRONMENT))
    assert loaded.usable
    assert [(each.severity, each.message) for each in loaded.diagnostics] == [
        (Severity.INFO, "not checked: the systemd credential `s3-key`, which only the service has")
    ]
    files.configure(text.replace("{env: ACCESS}", "{env: MISSING}"))
    assert not compile_snapshot(read_to_check(files.configuration, ENVIRONMENT)).usable
    # Where systemd has given credentials, they are looked for.
    given = {**ENVIRONMENT, "CREDENTIALS_DIRECTORY": str(files.folder)}
    assert not compile_snapshot(read_to_check(files.configuration, given)).usable


def test_templates_belong_to_the_set(files):
    """They are watched, a change of one changes the digest, and rules may call the helpers in them."""
    files.configure(files.configuration.read_text() + "templates: {helpers: [h.tpl], put: {path: h.tpl}}\n")
    (files.folder / "h.tpl").write_text('{{ define "a" }}one{{ end }}')
    files.write('rewrite `^/a$` -> go `/{{ template "a" . }}`')
    before = files.read()
    assert files.folder / "h.tpl" in before.watched
    loaded = compile_snapshot(before)
    assert loaded.usable
    assert loaded.pages.pages.find(None, "put") is not None
    assert compile_snapshot(files.read(), loaded).pages is loaded.pages  # unchanged, so not compiled again
    assert loaded.rule_sets["site"].rewrite("/a").key == "/one"
    assert str(files.folder / "h.tpl") in [file.name for file in loaded.snapshot.files]
    (files.folder / "h.tpl").write_text('{{ define "a" }}two{{ end }}')
    after = files.read()
    assert not after.is_as(before)
    assert compile_snapshot(after, loaded).rule_sets["site"].rewrite("/a").key == "/two"
    (files.folder / "h.tpl").write_text("{{ x }}")
    assert not files.load().usable
    (files.folder / "h.tpl").unlink()
    assert "unreadable-file" in [each.code for each in files.load().diagnostics]
