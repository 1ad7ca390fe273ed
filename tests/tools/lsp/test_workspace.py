from __future__ import annotations

import os
from codecs import BOM_UTF8
from pathlib import Path

import pytest
from editing import NAME, analysed, site, with_tree
from hypothesis import given
from hypothesis import strategies as st
from rule_texts import parsed

from tornado_proxy.lint.engine import LintSettings, edited
from tornado_proxy.rules.diagnostic import Diagnostic, Fix, Safety, Severity
from tornado_proxy.rules.loading import Read, RuleFile
from tornado_proxy.rules.tree import print_document
from tornado_proxy.tools.limits import LARGEST_WORKSPACE, MOST_FILES
from tornado_proxy.tools.lsp import workspace as lsp_workspace
from tornado_proxy.tools.lsp.workspace import Workspace, actions, analyse, layout_edits, safe_fixes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Returns a temporary folder whose path has no symbolic link."""
    return tmp_path.resolve()


def _write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"# {name}\n", encoding="utf-8")


def _names(sources: Read, folder: Path) -> list[str]:
    return [os.path.relpath(file.name, folder) for file in sources.files]


def test_the_files_of_one_directory_are_read_together(folder):
    """Files in the directory and below it are read in the order of the service."""
    _write(folder, "rules/b.rules", "rules/a.rules", "rules/more/c.rules", "rules/.hidden.rules", "rules/notes.txt")
    sources = Workspace((folder,)).sources(str(folder / "rules/b.rules"))
    assert _names(sources, folder) == ["rules/a.rules", "rules/b.rules", "rules/more/c.rules"]


def test_a_file_is_read_with_the_highest_directory_that_has_rules(folder):
    """The highest directory with a rule file is the root of the set."""
    _write(folder, "rules/a.rules", "rules/more/c.rules", "tests/x.rules")
    assert Workspace((folder,)).together_with(str(folder / "rules/more/c.rules")) == (folder / "rules",)


def test_no_directory_above_the_folder_of_the_client_is_read(folder):
    """A directory with rules outside the folder is ignored."""
    _write(folder, "a.rules", "rules/b.rules")
    inner = folder / "rules"
    assert Workspace((inner,)).together_with(str(inner / "b.rules")) == (inner,)


def test_a_file_outside_any_folder_is_read_alone(folder):
    _write(folder, "a.rules", "b.rules", "more/c.rules")
    assert _names(Workspace().sources(str(folder / "a.rules")), folder) == ["a.rules"]
    assert _names(Workspace((folder / "more",)).sources(str(folder / "a.rules")), folder) == ["a.rules"]


def _write_sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def test_only_the_open_file_of_a_too_large_set_is_read(folder):
    """A mistake reports the size, so that no test runs without all rules."""
    _write(folder, "a.rules")
    _write_sparse(folder / "b.rules", LARGEST_WORKSPACE)
    sources = Workspace((folder,)).sources(str(folder / "a.rules"))
    assert _names(sources, folder) == ["a.rules"]
    (mistake,) = sources.diagnostics
    assert mistake.message == "the rule files that belong together are larger than 4 MB: only this one is analysed"
    assert (mistake.code, mistake.severity, mistake.place) == ("too-large", Severity.ERROR, f"{folder}/a.rules:1:1")


@pytest.mark.parametrize("is_open", [False, True])
def test_a_file_that_is_too_large_is_not_read(folder, is_open):
    """The size is limited on disk and in the editor."""
    _write_sparse(folder / "a.rules", LARGEST_WORKSPACE + 1)
    name = str(folder / "a.rules")
    sources = Workspace((folder,), texts={name: "#" * (LARGEST_WORKSPACE + 1)} if is_open else {}).sources(name)
    assert sources.files == ()
    assert [mistake.message for mistake in sources.diagnostics] == ["the file is larger than 4 MB and is not analysed"]


def test_a_set_of_too_many_files_is_not_read(folder):
    """All files would be read again after every pause in typing."""
    for number in range(MOST_FILES + 1):
        (folder / f"{number}.rules").touch()
    sources = Workspace((folder,)).sources(str(folder / "1.rules"))
    assert (len(sources.files), [mistake.code for mistake in sources.diagnostics]) == (1, ["too-large"])


def test_the_number_of_searched_directories_is_limited(folder, monkeypatch):
    """A file in a home directory must not lead to a search of all its directories."""
    monkeypatch.setattr(lsp_workspace, "MOST_FOLDERS", 3)
    _write(folder, "a.rules", "1/x", "2/x", "3/x/y")
    sources = Workspace((folder,)).sources(str(folder / "a.rules"))
    assert [mistake.code for mistake in sources.diagnostics] == ["too-large"]


def test_given_places_are_read_together(folder):
    """A file below a place is read with all places, and another file is read alone."""
    _write(folder, "one/a.rules", "two/b.rules", "three/c.rules")
    workspace = Workspace((folder,), (folder / "two", folder / "one"))
    assert _names(workspace.sources(str(folder / "one/a.rules")), folder) == ["two/b.rules", "one/a.rules"]
    assert _names(workspace.sources(str(folder / "three/c.rules")), folder) == ["three/c.rules"]


def test_a_byte_order_mark_in_an_editor_counts_as_a_character():
    """An editor that keeps the mark counts it in its positions."""
    text = "\ufeff" + site('rewrite `^/a$` -> "/b"')
    (document,) = analyse(Workspace(texts={NAME: text}).sources(NAME), LintSettings()).loaded.documents
    assert document.source.text == text


def test_an_unsaved_file_is_sorted_by_its_name(folder):
    """An unsaved file has the same position among the files as a saved one."""
    _write(folder, "a.rules", "c.rules")
    workspace = Workspace((folder,), texts={str(folder / "b.rules"): ""})
    assert _names(workspace.sources(str(folder / "b.rules")), folder) == ["a.rules", "b.rules", "c.rules"]


def test_a_file_is_recognized_through_links(folder):
    """A place that is a link contains the file that the editor opened by its real path."""
    _write(folder, "real/a.rules")
    (folder / "rules").symlink_to("real")
    name = os.path.realpath(folder / "rules/a.rules")
    sources = Workspace(places=(folder / "rules",), texts={name: "# new\n"}).sources(name)
    assert [file.data for file in sources.files] == [BOM_UTF8 + b"# new\n"]


@pytest.mark.parametrize("name", ["untitled:Untitled-1", "/nowhere/rules.txt"])
def test_a_file_with_another_extension_is_read_alone(name):
    assert [file.name for file in Workspace(texts={name: ""}).sources(name).files] == [name]


def test_a_file_that_is_not_utf8_is_a_mistake(folder):
    _write(folder, "a.rules")
    (folder / "b.rules").write_bytes(b"# \xff\n")
    analysis = analyse(Workspace((folder,)).sources(str(folder / "a.rules")), LintSettings())
    (mistake,) = analysis.diagnostics
    assert (mistake.code, mistake.span.source.name) == ("not-utf-8", str(folder / "b.rules"))
    assert analysis.document(str(folder / "a.rules"))
    assert analysis.document(str(folder / "b.rules")) is None


def test_a_named_pipe_is_ignored(folder):
    """Reading a pipe would block the server."""
    _write(folder, "a.rules")
    os.mkfifo(folder / "b.rules")
    assert _names(Workspace((folder,)).sources(str(folder / "a.rules")), folder) == ["a.rules"]


def test_a_missing_file_has_no_text(folder):
    assert Workspace((folder,)).sources(str(folder / "gone/a.rules")).files == ()


_TEXT = site('rewrite a `^/a$` -> "/b"', 'test "/a" -> "/b"')


def test_tests_have_no_outcome_while_there_are_mistakes():
    """A rewrite that is missing because of a mistake may be the one that a test needs."""
    analysis = analysed(_TEXT + "target")
    assert analysis.outcome(analysis.document(NAME).blocks[0].statements[1]) is None


def test_an_analysis_of_unchanged_files_is_reused():
    first = analyse(Read((RuleFile(NAME, _TEXT.encode()),)), LintSettings())
    assert analyse(Read((RuleFile(NAME, _TEXT.encode()),)), LintSettings(), before=first) is first


def test_only_changed_files_are_parsed_again():
    other = RuleFile("other.rules", b"target other {}\n")
    first = analyse(Read((RuleFile(NAME, _TEXT.encode()), other)), LintSettings())
    second = analyse(Read((RuleFile(NAME, b"# new\n"), other)), LintSettings(), before=first)
    assert second.document("other.rules") is first.document("other.rules")
    assert second.document(NAME).blocks == ()


def test_rewrites_that_only_move_have_their_new_places():
    """An edit above rewrites changes nothing but where they stand."""
    first = analyse(Read((RuleFile(NAME, _TEXT.encode()),)), LintSettings())
    second = analyse(Read((RuleFile(NAME, f"# new\n{_TEXT}".encode()),)), LintSettings(), before=first)
    statement, _ = second.document(NAME).blocks[0].statements
    assert second.rewrite(statement).statement is statement


_DOT = 'rewrite `^/a.b$` -> "/c"'


def _fixes(text: str) -> list[tuple[Diagnostic, Fix]]:
    return list(actions(*with_tree(text), 0, len(text)))


def _codes(text: str) -> list[str]:
    return [diagnostic.code for diagnostic in analysed(text).diagnostics_of(NAME)]


def _allow(text: str, name: str) -> str:
    fix = next(fix for _, fix in _fixes(text) if fix.message == f"allow `{name}` here")
    return edited(text, fix.edits)


def test_the_title_of_a_fix_warns_of_changed_keys():
    text = site(_DOT, 'test "/a.b" -> "/c"  # allow: unescaped-dot')
    fixes = [(fix.message, fix.safety) for _, fix in _fixes(text)]
    assert ("escape the dot (keys may change)", Safety.UNSAFE) in fixes
    assert ("remove it", Safety.SAFE) in fixes


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (site(_DOT), site("# allow: unescaped-dot", _DOT)),
        (site(f"{_DOT}  # allow: no-effect"), site(f"{_DOT}  # allow: no-effect, unescaped-dot")),
        (site("# allow: no-effect (why)", _DOT), site("# allow: no-effect, unescaped-dot (why)", _DOT)),
        (f"target site {{ {_DOT}\n}}\n", f"target site {{ {_DOT}  # allow: unescaped-dot\n}}\n"),
        (site(f"  {_DOT}"), site("  # allow: unescaped-dot", f"  {_DOT}")),
    ],
    ids=["above", "beside another", "before a reason", "after", "indented"],
)
def test_a_finding_can_be_allowed_by_a_comment(before, expected):
    """The comment is above the statement, in an existing comment, or after the statement."""
    assert _allow(before, "unescaped-dot") == expected
    assert "unescaped-dot" not in _codes(expected)


def test_a_finding_about_a_target_is_allowed_above_its_block():
    """The comment about a finding at a target's name is above the target."""
    text = site('rewrite `^/a$` -> "/b"')
    assert _allow(text, "untested-rewrite") == f"# allow: untested-rewrite\n{text}"


@pytest.mark.parametrize(
    "text",
    [
        f'target site {{ {_DOT} test "/a.b" -> "/c" }}',  # no room for a comment
        "target site {}\n# allow: unescaped-dot\n",  # no statement
        site('rewrite `^/(` -> "/b"', 'test "/a" -> unchanged  # allow: no-effekt'),  # mistakes
    ],
)
def test_no_allowance_is_offered_where_none_can_be(text):
    assert [fix.message for _, fix in _fixes(text) if fix.message.startswith("allow")] == []


def test_only_fixes_in_the_requested_range_are_offered():
    """An editor requests fixes at the cursor."""
    text = site(_DOT, 'rewrite `^/d.e$` -> "/f"')
    offset = text.index("d.e") + 1
    fixes = list(actions(*with_tree(text), offset, offset))
    assert {finding.span.start for finding, _ in fixes} == {offset}


def test_all_safe_fixes_can_be_applied_at_once():
    """The result is that of `lint --fix`."""
    text = site('rewrite `^/a(?P<x>b)$` -> "/c"', 'test "/ab" -> "/c"  # allow: no-effect')
    fixed = edited(text, [edit for fix in safe_fixes(*with_tree(text)) for edit in fix.edits])
    assert fixed == site('rewrite `^/a(?:b)$` -> "/c"', 'test "/ab" -> "/c"')


_STATEMENTS = st.lists(
    st.sampled_from(
        [
            _DOT,
            'rewrite `/x` -> "y/$q"',
            'rewrite `^docs/` -> "/z"',
            'test "/a.b" -> "/z"',
            "# a comment",
            'test "/q" -> unchanged',
        ]
    ),
    max_size=6,
)


@given(_STATEMENTS)
def test_an_allowance_removes_its_finding(statements):
    """Every offered allowance removes a finding of any file."""
    text = site(*statements)
    for _, fix in _fixes(text):
        if fix.message.startswith("allow"):
            changed = edited(text, fix.edits)
            assert len(_codes(changed)) < len(_codes(text)), changed


@pytest.mark.parametrize("text", ["", "target site {}\n", "target site {", "target site { rewrit }"])
def test_a_formatted_or_invalid_file_has_no_formatting_edits(text):
    """A file with a syntax error has no layout."""
    assert layout_edits(parsed(text)) == ()


@given(st.text(alphabet='target{} site\n\r"`#\u2028->', max_size=50))
def test_any_valid_text_is_formatted(text):
    file = parsed(text)
    if not file.diagnostics:
        assert edited(text, layout_edits(file)) == print_document(file.document)
