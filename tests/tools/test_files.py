import codecs
import os
import stat
import subprocess

import pytest
from documents import scattered_texts
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_texts import parsed

from tornado_proxy.rules.loading import RuleFile
from tornado_proxy.tools.files import difference, formatted, read_rules, replace_file

TIDY = b'target site {\n    rewrite `^/a$` -> "/b"\n}\n'


def _format(data):
    return formatted(RuleFile("site.rules", data))


def _patch(data):
    return difference(RuleFile("site.rules", data), _format(data)[0])


def test_a_file_is_printed_in_its_canonical_layout():
    """The result is the printer's text, in UTF-8."""
    assert _format(b'target site{rewrite`^/a$`->"/b"}') == (TIDY, ())


def test_a_formatted_file_is_unchanged():
    """Formatting a file twice gives the same result as formatting it once."""
    assert _format(TIDY) == (TIDY, ())


def test_byte_order_mark_and_cr_lf_are_normalized():
    """Both are removed without a diagnostic."""
    assert _format(codecs.BOM_UTF8 + TIDY.replace(b"\n", b"\r\n")) == (TIDY, ())


def test_a_file_with_a_syntax_error_is_unchanged():
    """The mistakes are reported."""
    data = b"target site {\nrewrite `^/a -> '/b'\n}"
    content, diagnostics = _format(data)
    assert content == data
    assert [diagnostic.code for diagnostic in diagnostics] == ["unterminated-string"]


def test_a_source_that_does_not_compile_is_formatted():
    """The layout depends only on the syntax tree."""
    assert _format(b"target site { rewrite `(` -> `/b` }") == (b"target site {\n    rewrite `(` -> `/b`\n}\n", ())


def test_a_file_that_is_not_utf_8_is_unchanged():
    """The invalid encoding is reported."""
    content, diagnostics = _format(b"target \xff {}")
    assert content == b"target \xff {}"
    assert [diagnostic.code for diagnostic in diagnostics] == ["not-utf-8"]


def test_a_difference_is_a_patch():
    """The patch has the file's name, removed and added lines, and reports a missing line end."""
    assert list(_patch(b'target site {\n  rewrite `^/a$` -> "/b"\n}')) == [
        "--- site.rules",
        "+++ site.rules",
        "@@ -1,3 +1,3 @@",
        " target site {",
        '-  rewrite `^/a$` -> "/b"',
        "-}",
        "\\ No newline at end of file",
        '+    rewrite `^/a$` -> "/b"',
        "+}",
    ]


def test_a_formatted_file_has_no_difference():
    """The patch has no lines, not even the file's name."""
    assert list(_patch(TIDY)) == []


@settings(max_examples=25)
@given(scattered_texts())
def test_formatting_keeps_the_document_and_is_idempotent(scattered):
    """Any layout is formatted to the same document, and formatting again changes nothing."""
    text, _ = scattered
    content, _ = _format(text.encode())
    assert parsed(content.decode()).document == parsed(text).document
    assert _format(content)[0] == content


@given(st.binary(max_size=80))
def test_any_bytes_are_formatted_or_unchanged(data):
    """A file that is not formatted is unchanged and has diagnostics."""
    content, diagnostics = _format(data)
    assert not diagnostics or content == data


def test_a_replaced_file_keeps_its_mode(tmp_path):
    """The file has the new content and the old permissions."""
    path = tmp_path / "site.rules"
    path.write_text("old")
    path.chmod(0o640)
    replace_file(path, b"new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_an_open_file_keeps_the_old_content(tmp_path):
    """The content is written to a new file, so a process that has the old one open reads on undisturbed."""
    path = tmp_path / "site.rules"
    path.write_text("old")
    with path.open() as reader:
        replace_file(path, b"new")
        assert reader.read() == "old"


def test_a_symbolic_link_is_kept(tmp_path):
    """The target of the link is replaced."""
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "site.rules", tmp_path / "link.rules"
    target.write_text("old")
    link.symlink_to(target)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_no_temporary_file_is_left(tmp_path):
    """The temporary file is renamed to the file itself."""
    path = tmp_path / "site.rules"
    path.write_text("old")
    replace_file(path, b"new")
    assert os.listdir(tmp_path) == ["site.rules"]  # noqa: PTH208 - names are compared


def test_a_missing_file_is_not_created(tmp_path):
    """Replacing a missing file raises an error."""
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "site.rules", b"new")


def test_a_failed_replacement_leaves_only_the_old_file(tmp_path):
    """A failed write leaves no temporary file behind."""
    path = tmp_path / "site.rules"
    path.write_text("old")
    with pytest.raises(TypeError):
        replace_file(path, "no bytes")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["site.rules"]  # noqa: PTH208 - names are compared


AUTHOR = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Creates a Git repository with committed rules and a changed working tree, and enters it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for name, text in {
        "rules/site.rules": "# committed\n",
        "rules/a/team.rules": "# team\n",
        "rules/.hidden.rules": "",
        "rules/.x/site.rules": "",
        "rules/readme.txt": "",
        "docs/readme.txt": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    (tmp_path / "rules" / "link.rules").symlink_to("site.rules")
    (tmp_path / "rules" / "astray.rules").symlink_to("/nowhere")
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], [*AUTHOR, "commit", "-qm", "Rules"]):
        subprocess.run(["git", *words], check=True, capture_output=True)
    (tmp_path / "rules" / "astray.rules").unlink()
    (tmp_path / "rules" / "site.rules").write_text("# edited\n")
    return tmp_path


def _contents_by_name(place):
    loaded = read_rules(place)
    assert loaded.diagnostics == ()
    return {file.name: file.data for file in loaded.files}


def _message(place):
    loaded = read_rules(place)
    assert loaded.files == ()
    (diagnostic,) = loaded.diagnostics
    return diagnostic.message


def test_a_path_is_read_from_the_working_tree(repository):
    """Uncommitted changes of a directory and of a file are read."""
    assert _contents_by_name("rules")["rules/site.rules"] == b"# edited\n"
    assert _contents_by_name("rules/site.rules") == {"rules/site.rules": b"# edited\n"}


def test_a_file_of_a_revision_is_read(repository):
    """The content is the committed one, and the name is the given one."""
    assert _contents_by_name("main:rules/site.rules") == {"main:rules/site.rules": b"# committed\n"}


@pytest.fixture
def without_stray_link(repository):
    """Commits the removal of the link that leads out of the repository."""
    subprocess.run(["git", *AUTHOR, "commit", "-qam", "Without the stray link"], check=True, capture_output=True)


@pytest.mark.parametrize("place", ["HEAD:rules", "HEAD:rules/", "main:rules"])
def test_a_directory_of_a_revision_is_read_as_one_on_disk(without_stray_link, place):
    """All `*.rules` below it are read in order, links are followed, and hidden files are skipped."""
    name = place.rstrip("/")
    assert list(_contents_by_name(place)) == [f"{name}/{path}" for path in ("a/team.rules", "link.rules", "site.rules")]
    assert _contents_by_name(place)[f"{name}/link.rules"] == b"# edited\n"


def test_a_path_in_a_revision_may_be_relative(without_stray_link, repository, monkeypatch):
    """`./` starts from the current directory, as in Git."""
    monkeypatch.chdir(repository / "rules")
    assert list(_contents_by_name("main:./a")) == ["main:./a/team.rules"]
    assert list(_contents_by_name("main:.")) == ["main:./a/team.rules", "main:./link.rules", "main:./site.rules"]


def test_an_empty_path_in_a_revision_is_its_root(without_stray_link):
    """All rule files of the revision are read."""
    assert next(iter(_contents_by_name("main:"))) == "main:rules/a/team.rules"


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("nowhere", "`nowhere` does not exist"),
        ("nowhere:rules", "is neither a path nor a place in a Git revision: invalid object name 'nowhere'"),
        ("main:nowhere", "is neither a path nor a place in a Git revision: path 'nowhere' does not exist in 'main'"),
        ("--output=x:rules", "a revision does not begin with `-`"),
        ("main:docs", "`main:docs` has no rule file"),
        ("main:rules", "`main:rules/astray.rules` is not a file"),
    ],
)
def test_an_unreadable_place_has_a_diagnostic(repository, place, message):
    """The single diagnostic has Git's message."""
    assert message in _message(place)


def test_an_existing_path_is_not_a_revision(repository):
    """A file may have a colon in its name."""
    (repository / "main:rules").write_text("# odd\n")
    assert _contents_by_name("main:rules") == {"main:rules": b"# odd\n"}


def test_without_git_a_revision_cannot_be_read(repository, monkeypatch):
    """The message names the missing program."""
    monkeypatch.setenv("PATH", str(repository))
    assert "the command `git` is not installed" in _message("main:rules")


@pytest.mark.parametrize(
    ("place", "help"),
    [("main", "name a place in the revision, such as `main:rules/`"), ("other", None), ("-x", None)],
)
def test_a_revision_without_a_path_is_a_mistake(repository, place, help):
    """The help shows how a place in a revision is written."""
    (diagnostic,) = read_rules(place).diagnostics
    assert (diagnostic.message, diagnostic.help) == (f"`{place}` does not exist", help)
