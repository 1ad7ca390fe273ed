"""The set of files, read at one moment, and its digest."""

from __future__ import annotations

import pytest
from files import ENVIRONMENT, Files

from tornado_proxy.service.sources import read_settled, read_sources


@pytest.fixture
def files(tmp_path):
    """A set with one rule file."""
    return Files.create(tmp_path, site='rewrite `^/a$` -> "/b"')


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
        _change_a_secret,
        _remove_a_secret,
    ],
)
def test_every_change_changes_the_digest(files, change):
    """Rules, names, configuration and secrets all count."""
    before = files.read().digest
    change(files)
    assert files.read().digest != before


def test_a_comment_in_the_configuration_changes_nothing(files):
    """What the configuration means counts, not how it is written."""
    before = files.read().digest
    files.configure("# a remark\n" + files.configuration.read_text())
    assert files.read().digest == before


def test_the_digest_does_not_give_secrets_away(files):
    """Neither the digest nor the representation holds a secret."""
    assert "s3cret" not in repr(files.read())


def test_places_are_where_changes_show(files):
    """The configuration, the places of rules and the files of secrets are watched."""
    assert [path.name for path in files.read().places] == ["proxy.yaml", "rules", "secret"]


def test_an_edit_in_progress_is_waited_for(files):
    """Two looks must agree: a set that changes between them is read again."""
    edits = iter([_edit_rules, _add_a_file])

    def pause(_seconds: float) -> None:
        edit = next(edits, None)
        if edit:
            edit(files)

    settled = read_settled(files.configuration, ENVIRONMENT, pause)
    assert settled.digest == files.read().digest


def test_a_set_that_never_settles_is_read_all_the_same(files):
    """A file that changes for ever does not keep the service from reading the rest."""
    number = iter(range(1000))
    settled = read_settled(files.configuration, ENVIRONMENT, lambda _: files.write(f"# {next(number)}"))
    assert settled.rules.files


def test_a_configuration_that_is_not_there_is_said(tmp_path):
    """A missing file is a diagnostic, and is watched for."""
    sources = read_sources(tmp_path / "none.yaml", {})
    assert [each.code for each in sources.configuration.diagnostics] == ["unreadable-file"]
    assert sources.places == (tmp_path / "none.yaml",)
