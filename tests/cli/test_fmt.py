import codecs
import stat
from pathlib import Path

import pytest
from command_lines import imported_by

UNTIDY = 'target site{rewrite`^/a$`->"/b"}'
TIDY = 'target site {\n    rewrite `^/a$` -> "/b"\n}\n'


@pytest.fixture
def untidy(command):
    """A file that is not in the canonical layout."""
    path = Path("site.rules")
    path.write_text(UNTIDY)
    return path


def test_the_current_directory_is_formatted_if_nothing_is_named(command, untidy):
    """But for `rules/`, if that is there."""
    assert command("fmt").out == "formatted site.rules\n"
    assert untidy.read_text() == TIDY


def test_the_directory_rules_comes_before_the_current_one(command, untidy):
    """What lies elsewhere is left alone."""
    Path("rules").mkdir()
    Path("rules/team.rules").write_text(UNTIDY)
    assert command("fmt").out == "formatted rules/team.rules\n"
    assert untidy.read_text() == UNTIDY


def test_mode_and_link_stay(command, untidy):
    """A link's file is written, with its mode."""
    untidy.chmod(0o604)
    Path("link.rules").symlink_to(untidy)
    assert command("fmt", "link.rules").status == 0
    assert Path("link.rules").is_symlink()
    assert untidy.read_text() == TIDY
    assert stat.S_IMODE(untidy.stat().st_mode) == 0o604


def test_what_is_tidy_is_not_written(command, untidy):
    """A watcher sees no change."""
    untidy.write_text(TIDY)
    before = untidy.stat()
    assert command("fmt") == command("fmt", "--check")
    assert untidy.stat().st_mtime_ns == before.st_mtime_ns
    assert untidy.stat().st_ino == before.st_ino


def test_line_ends_and_marks_are_brought_in_line(command, untidy):
    """CR LF becomes LF, and a byte order mark goes."""
    untidy.write_bytes(codecs.BOM_UTF8 + TIDY.replace("\n", "\r\n").encode())
    assert command("fmt", "--check").status == 1
    assert command("fmt").status == 0
    assert untidy.read_bytes() == TIDY.encode()


def test_a_file_that_is_not_utf_8_is_a_finding(command, untidy):
    """It stays as it is."""
    untidy.write_bytes(b"target \xff {}")
    done = command("fmt")
    assert done.status == 1
    assert "error[not-utf-8]" in done.err
    assert untidy.read_bytes() == b"target \xff {}"


def test_the_worst_status_counts(command, untidy):
    """A place that cannot be read does not keep the others from being formatted."""
    assert command("fmt", "nowhere.rules", "site.rules").status == 2
    assert untidy.read_text() == TIDY


def test_a_file_that_cannot_be_replaced_is_status_2(command):
    """Whoever runs it, nothing can be written beside a file of the kernel's."""
    Path("comm.rules").symlink_to("/proc/self/comm")
    Path("/proc/self/comm").write_text("target a{}")
    done = command("fmt", "comm.rules")
    assert done.status == 2
    assert done.err.startswith("tornado-proxy fmt: `comm.rules` cannot be written: ")


def test_check_and_diff_exclude_each_other(command, untidy):
    """Each writes nothing, and each prints something else."""
    assert command("fmt", "--check", "--diff").status == 2


def test_formatting_imports_no_server():
    """Nor does it import what only configurations and templates need."""
    assert imported_by("fmt", "--check", str(Path(__file__).parents[2] / "rules")) == set()
