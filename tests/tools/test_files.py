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


def _formatted(data):
    return formatted(RuleFile("site.rules", data))


def _patch(data):
    return difference(RuleFile("site.rules", data), _formatted(data)[0])


def test_a_file_is_printed_in_its_canonical_layout():
    """The result is the printer's text, in UTF-8."""
    assert _formatted(b'target site{rewrite`^/a$`->"/b"}') == (TIDY, ())


def test_what_is_in_the_canonical_layout_is_unchanged():
    """Formatting twice is formatting once."""
    assert _formatted(TIDY) == (TIDY, ())


def test_a_byte_order_mark_and_cr_lf_go():
    """Both are no mistakes, and no part of the layout."""
    assert _formatted(codecs.BOM_UTF8 + TIDY.replace(b"\n", b"\r\n")) == (TIDY, ())


def test_a_file_with_a_syntax_error_stays_as_it_is():
    """Its mistakes are reported."""
    data = b"target site {\nrewrite `^/a -> '/b'\n}"
    after, diagnostics = _formatted(data)
    assert after == data
    assert [each.code for each in diagnostics] == ["unterminated-string"]


def test_a_source_that_does_not_compile_is_no_syntax_error():
    """The layout asks for the tree alone."""
    assert _formatted(b"target site { rewrite `(` -> `/b` }") == (b"target site {\n    rewrite `(` -> `/b`\n}\n", ())


def test_a_file_that_is_not_utf_8_stays_as_it_is():
    """There is no text to lay out."""
    after, diagnostics = _formatted(b"target \xff {}")
    assert after == b"target \xff {}"
    assert [each.code for each in diagnostics] == ["not-utf-8"]


def test_a_difference_is_a_patch():
    """Removed and added lines, with the file's name; a missing line end is reported."""
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


def test_nothing_differs_in_a_tidy_file():
    """There is no empty patch."""
    assert list(_patch(TIDY)) == []


@settings(max_examples=25)
@given(scattered_texts())
def test_formatting_keeps_the_meaning_and_is_done_once(scattered):
    """Whatever the layout was, the document is the same, and a second time changes nothing."""
    text, _ = scattered
    after, _ = _formatted(text.encode())
    assert parsed(after.decode()).document == parsed(text).document
    assert _formatted(after)[0] == after


@given(st.binary(max_size=80))
def test_no_file_is_too_strange(data):
    """Any bytes are formatted, or left as they are with a reason."""
    after, diagnostics = _formatted(data)
    assert not diagnostics or after == data


def test_a_file_gets_new_content_and_keeps_its_mode(tmp_path):
    """The mode stays."""
    path = tmp_path / "site.rules"
    path.write_text("old")
    path.chmod(0o640)
    replace_file(path, b"new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_who_reads_meanwhile_keeps_the_old_content(tmp_path):
    """The file is another one afterwards; an open one is never written to."""
    path = tmp_path / "site.rules"
    path.write_text("old")
    with path.open() as reader:
        replace_file(path, b"new")
        assert reader.read() == "old"


def test_a_link_stays_one(tmp_path):
    """The target of the link is replaced."""
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "site.rules", tmp_path / "link.rules"
    target.write_text("old")
    link.symlink_to(target)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_nothing_is_left_beside_it(tmp_path):
    """The file that the content was written to has become the file itself."""
    path = tmp_path / "site.rules"
    path.write_text("old")
    replace_file(path, b"new")
    assert os.listdir(tmp_path) == ["site.rules"]  # noqa: PTH208 - names are compared


def test_a_file_that_is_gone_is_not_made(tmp_path):
    """There is nothing to replace."""
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "site.rules", b"new")


def test_a_failure_leaves_the_file_and_nothing_else(tmp_path):
    """A failed write leaves no file behind."""
    path = tmp_path / "site.rules"
    path.write_text("old")
    with pytest.raises(TypeError):
        replace_file(path, "no bytes")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["site.rules"]  # noqa: PTH208 - names are compared


WHO = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with rules on its branch `main`, and other ones in the working tree, in which the tests stand."""
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
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], [*WHO, "commit", "-qm", "Rules"]):
        subprocess.run(["git", *words], check=True, capture_output=True)
    (tmp_path / "rules" / "astray.rules").unlink()
    (tmp_path / "rules" / "site.rules").write_text("# edited\n")
    return tmp_path


def _files(place):
    read = read_rules(place)
    assert read.diagnostics == ()
    return {file.name: file.data for file in read.files}


def _problem(place):
    read = read_rules(place)
    assert read.files == ()
    (diagnostic,) = read.diagnostics
    return diagnostic.message


def test_a_place_in_the_file_system_is_read_as_it_is(repository):
    """A directory and a file, edited or not."""
    assert _files("rules")["rules/site.rules"] == b"# edited\n"
    assert _files("rules/site.rules") == {"rules/site.rules": b"# edited\n"}


def test_a_file_of_a_revision_is_read(repository):
    """As it was committed, under the name that was given."""
    assert _files("main:rules/site.rules") == {"main:rules/site.rules": b"# committed\n"}


@pytest.fixture
def without_stray_link(repository):
    """The same, without the link that leads out of the repository."""
    subprocess.run(["git", *WHO, "commit", "-qam", "Without the stray link"], check=True, capture_output=True)


@pytest.mark.parametrize("place", ["HEAD:rules", "HEAD:rules/", "main:rules"])
def test_a_directory_of_a_revision_is_read_as_one_on_disk(without_stray_link, place):
    """Recursively, only `*.rules`, sorted, nothing that begins with a dot, links followed."""
    name = place.rstrip("/")
    assert list(_files(place)) == [f"{name}/{each}" for each in ("a/team.rules", "link.rules", "site.rules")]
    assert _files(place)[f"{name}/link.rules"] == b"# edited\n"


def test_a_path_may_start_from_where_one_stands(without_stray_link, repository, monkeypatch):
    """`./` counts from the current directory, as Git has it."""
    monkeypatch.chdir(repository / "rules")
    assert list(_files("main:./a")) == ["main:./a/team.rules"]
    assert list(_files("main:.")) == ["main:./a/team.rules", "main:./link.rules", "main:./site.rules"]


def test_a_revision_may_be_read_whole(without_stray_link):
    """An empty path is the root."""
    assert next(iter(_files("main:"))) == "main:rules/a/team.rules"


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
def test_what_cannot_be_read_says_why(repository, place, message):
    """One diagnostic has Git's message."""
    assert message in _problem(place)


def test_what_exists_is_never_taken_for_a_revision(repository):
    """A file may have a colon in its name."""
    (repository / "main:rules").write_text("# odd\n")
    assert _files("main:rules") == {"main:rules": b"# odd\n"}


def test_without_git_a_revision_cannot_be_read(repository, monkeypatch):
    """The message names the missing program."""
    monkeypatch.setenv("PATH", str(repository))
    assert "the command `git` is not installed" in _problem("main:rules")


@pytest.mark.parametrize(
    ("place", "help"),
    [("main", "name a place in the revision, such as `main:rules/`"), ("other", None), ("-x", None)],
)
def test_a_revision_without_a_path_is_a_mistake(repository, place, help):
    """The help shows how a place in a revision is written."""
    (found,) = read_rules(place).diagnostics
    assert (found.message, found.help) == (f"`{place}` does not exist", help)
