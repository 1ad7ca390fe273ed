from __future__ import annotations

import os
from pathlib import Path

import pytest
from editing import NAME, after, analysed, site
from hypothesis import given
from hypothesis import strategies as st
from rule_texts import parsed

from tornado_proxy.lang.diagnostic import Diagnostic, Fix, Safety, Severity, SourceFile
from tornado_proxy.lang.printer import print_document
from tornado_proxy.lint.settings import Selection
from tornado_proxy.tools.lsp import workspace as lsp_workspace
from tornado_proxy.tools.lsp.workspace import (
    LARGEST,
    MOST_FILES,
    CheckOptions,
    RuleFileSet,
    Workspace,
    actions,
    analyse,
    layout_edits,
    safe_fixes,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose path holds no link."""
    return tmp_path.resolve()


def _write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"# {name}\n", encoding="utf-8")


def _names(sources: RuleFileSet, folder: Path) -> list[str]:
    return [os.path.relpath(file.name, folder) for file in sources.files]


def test_the_files_of_one_directory_are_read_together(folder):
    """Files in the directory and below are read, in the order of the service."""
    _write(folder, "rules/b.rules", "rules/a.rules", "rules/more/c.rules", "rules/.hidden.rules", "rules/notes.txt")
    found = Workspace((folder,)).sources(str(folder / "rules/b.rules"))
    assert _names(found, folder) == ["rules/a.rules", "rules/b.rules", "rules/more/c.rules"]


def test_a_file_in_a_lower_directory_belongs_to_the_directory_above_that_holds_rules(folder):
    """The highest directory with a rule file is where reading begins."""
    _write(folder, "rules/a.rules", "rules/more/c.rules", "tests/x.rules")
    assert Workspace((folder,)).together_with(str(folder / "rules/more/c.rules")) == (folder / "rules",)


def test_nothing_above_the_clients_folder_is_looked_at(folder):
    """A directory with rules outside of the folder is not read."""
    _write(folder, "a.rules", "rules/b.rules")
    inner = folder / "rules"
    assert Workspace((inner,)).together_with(str(inner / "b.rules")) == (inner,)


def test_without_a_folder_a_file_is_looked_at_alone(folder):
    """Files around a single open file are not read."""
    _write(folder, "a.rules", "b.rules", "more/c.rules")
    assert _names(Workspace().sources(str(folder / "a.rules")), folder) == ["a.rules"]
    assert _names(Workspace((folder / "more",)).sources(str(folder / "a.rules")), folder) == ["a.rules"]


def _sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def test_of_a_set_that_is_too_large_the_file_alone_is_read(folder):
    """A mistake reports it, so that no test runs without all rules."""
    _write(folder, "a.rules")
    _sparse(folder / "b.rules", LARGEST)
    found = Workspace((folder,)).sources(str(folder / "a.rules"))
    assert _names(found, folder) == ["a.rules"]
    (mistake,) = found.mistakes
    assert mistake.message == "the rule files that belong together are larger than 4 MB: only this one is analysed"
    assert (mistake.code, mistake.severity, mistake.place) == ("too-large", Severity.ERROR, f"{folder}/a.rules:1:1")


@pytest.mark.parametrize("shown", [False, True])
def test_a_file_that_is_too_large_is_not_read(folder, shown):
    """Whether it is on disk or in the editor."""
    _sparse(folder / "a.rules", LARGEST + 1)
    name = str(folder / "a.rules")
    workspace = Workspace((folder,))
    found = (workspace.with_text(name, "#" * (LARGEST + 1)) if shown else workspace).sources(name)
    assert found.files == ()
    assert [each.message for each in found.mistakes] == ["the file is larger than 4 MB and is not analysed"]


def test_a_set_of_too_many_files_is_not_read(folder):
    """Each of them would be read again after every pause."""
    for number in range(MOST_FILES + 1):
        (folder / f"{number}.rules").touch()
    found = Workspace((folder,)).sources(str(folder / "1.rules"))
    assert (len(found.files), [each.code for each in found.mistakes]) == (1, ["too-large"])


def test_no_more_directories_are_looked_through_than_an_editor_can_wait_for(folder, monkeypatch):
    """A file in somebody's home does not lead to all that lies there."""
    monkeypatch.setattr(lsp_workspace, "MOST_FOLDERS", 3)
    _write(folder, "a.rules", "1/x", "2/x", "3/x/y")
    found = Workspace((folder,)).sources(str(folder / "a.rules"))
    assert [each.code for each in found.mistakes] == ["too-large"]


def test_places_that_are_given_are_read_together(folder):
    """A file below a place is read with all places; another one is not."""
    _write(folder, "one/a.rules", "two/b.rules", "three/c.rules")
    workspace = Workspace((folder,), (folder / "two", folder / "one"))
    assert _names(workspace.sources(str(folder / "one/a.rules")), folder) == ["two/b.rules", "one/a.rules"]
    assert _names(workspace.sources(str(folder / "three/c.rules")), folder) == ["three/c.rules"]


def test_what_an_editor_shows_counts_more_than_what_is_on_disk(folder):
    """An open file has its text from the editor until it is closed."""
    _write(folder, "a.rules")
    name = str(folder / "a.rules")
    open_there = Workspace((folder,)).with_text(name, "# new\n")
    assert [file.text for file in open_there.sources(name).files] == ["# new\n"]
    assert [file.text for file in open_there.without(name).sources(name).files] == ["# a.rules\n"]


def test_a_file_that_was_never_saved_has_its_place_in_the_order(folder):
    """Its position is that of the service's order."""
    _write(folder, "a.rules", "c.rules")
    workspace = Workspace((folder,)).with_text(str(folder / "b.rules"), "")
    assert _names(workspace.sources(str(folder / "b.rules")), folder) == ["a.rules", "b.rules", "c.rules"]


def test_a_file_is_found_through_links(folder):
    """An editor that opened a file through a link shows the same file."""
    _write(folder, "real/a.rules")
    (folder / "rules").symlink_to("real")
    name = os.path.realpath(folder / "rules/a.rules")
    found = Workspace(places=(folder / "rules",)).with_text(name, "# new\n").sources(name)
    assert [file.text for file in found.files] == ["# new\n"]


@pytest.mark.parametrize("name", ["untitled:Untitled-1", "/nowhere/rules.txt"])
def test_what_is_no_rule_file_by_its_name_stands_alone(name):
    """A text without a path, or called otherwise, is read alone."""
    assert [file.name for file in Workspace().with_text(name, "").sources(name).files] == [name]


def test_a_file_that_is_not_utf8_is_a_mistake(folder):
    """It is left out, and a diagnostic reports it."""
    _write(folder, "a.rules")
    (folder / "b.rules").write_bytes(b"# \xff\n")
    found = Workspace((folder,)).sources(str(folder / "a.rules"))
    assert (_names(found, folder), [each.code for each in found.mistakes]) == (["a.rules"], ["not-utf-8"])


def test_what_is_no_file_is_not_waited_for(folder):
    """A pipe that is called like a rule file is passed over."""
    _write(folder, "a.rules")
    os.mkfifo(folder / "b.rules")
    assert _names(Workspace((folder,)).sources(str(folder / "a.rules")), folder) == ["a.rules"]


def test_a_file_that_is_nowhere_has_no_text(folder):
    """A file that is neither open nor on disk has no source."""
    assert Workspace((folder,)).sources(str(folder / "gone/a.rules")).files == ()


_TEXT = site('rewrite a `^/a$` -> "/b"', 'test "/a" -> "/b"')


def test_parser_compiler_and_checks_have_their_say():
    """The findings of all three are in one list, by file."""
    analysis = analysed(site('rewrite `^/a(` -> "/b"', 'rewrite `^/c.d$` -> "/e"', "test 7"))
    codes = {each.code for each in analysis.diagnostics_of(NAME)}
    assert {"syntax-error", "bad-source", "unescaped-dot"} <= codes


def test_files_that_are_read_together_are_judged_together():
    """A test of one file may reach the rewrite of another."""
    analysis = analysed(site('rewrite `^/a$` -> "/b"'), other=site('test "/a" -> "/b"'))
    assert analysis.diagnostics == ()


def test_a_rewrite_and_a_test_are_found_by_their_statements():
    """The results of compiling statements are available."""
    analysis = analysed(_TEXT)
    rewrite, test = analysis.document(NAME).blocks[0].statements
    assert analysis.rewrite(rewrite).name == "a"
    assert analysis.outcome(test).rewrite is analysis.rewrite(rewrite)


def test_while_there_are_mistakes_no_test_has_an_outcome():
    """A rewrite that is missing because of a mistake may be the one that a test needs."""
    analysis = analysed(_TEXT + "target")
    assert analysis.outcome(analysis.document(NAME).blocks[0].statements[1]) is None


def test_the_same_files_are_not_analysed_again():
    """The last analysis is kept where nothing has changed."""
    sources = RuleFileSet((SourceFile(NAME, _TEXT),))
    first = analyse(sources, CheckOptions())
    assert analyse(RuleFileSet((SourceFile(NAME, _TEXT),)), CheckOptions(), first) is first


def test_other_settings_are_another_question():
    """Other settings need another analysis."""
    sources = RuleFileSet((SourceFile(NAME, site('rewrite `^/a$` -> "/b"')),))
    first = analyse(sources, CheckOptions())
    second = analyse(sources, CheckOptions(Selection(ignore=frozenset({"untested-rewrite"}))), first)
    assert (len(first.diagnostics), len(second.diagnostics)) == (1, 0)


def test_only_files_that_changed_are_parsed_again():
    """The trees of the others are kept."""
    other = SourceFile("other.rules", "target other {}\n")
    first = analyse(RuleFileSet((SourceFile(NAME, _TEXT), other)), CheckOptions())
    second = analyse(RuleFileSet((SourceFile(NAME, "# new\n"), other)), CheckOptions(), first)
    assert second.document("other.rules") is first.document("other.rules")
    assert second.document(NAME).blocks == ()


def test_a_file_that_is_not_there_has_no_document():
    """Nothing is known of what was not read."""
    assert analysed(_TEXT).document("other.rules") is None


_DOT = 'rewrite `^/a.b$` -> "/c"'


def _offered(text: str) -> list[tuple[Diagnostic, Fix]]:
    return list(actions(analysed(text), NAME, 0, len(text)))


def _codes(text: str) -> list[str]:
    return [each.code for each in analysed(text).diagnostics_of(NAME)]


def _allow(text: str, name: str) -> str:
    fix = next(fix for _, fix in _offered(text) if fix.message == f"allow `{name}` here")
    return after(text, fix.edits)


def test_fixes_say_what_they_promise():
    """The title warns of a fix that may change keys."""
    text = site(_DOT, 'test "/a.b" -> "/c"  # allow: unescaped-dot')
    offered = [(fix.message, fix.safety) for _, fix in _offered(text)]
    assert ("escape the dot (keys may change)", Safety.UNSAFE) in offered
    assert ("remove it", Safety.SAFE) in offered


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        (site(_DOT), site("# allow: unescaped-dot", _DOT)),
        (site(f"{_DOT}  # allow: no-effect"), site(f"{_DOT}  # allow: no-effect, unescaped-dot")),
        (site("# allow: no-effect (why)", _DOT), site("# allow: no-effect, unescaped-dot (why)", _DOT)),
        (f"target site {{ {_DOT}\n}}\n", f"target site {{ {_DOT}  # allow: unescaped-dot\n}}\n"),
        (site(f"  {_DOT}"), site("  # allow: unescaped-dot", f"  {_DOT}")),
    ],
    ids=["above", "beside another", "before a reason", "behind", "indented"],
)
def test_a_finding_can_be_allowed_by_a_comment(before, behind):
    """The comment is above the statement, in an existing comment, or after the statement."""
    assert _allow(before, "unescaped-dot") == behind
    assert "unescaped-dot" not in _codes(behind)


def test_a_finding_about_a_target_is_allowed_above_its_block():
    """A target without tests is found at its name."""
    text = site('rewrite `^/a$` -> "/b"')
    assert _allow(text, "untested-rewrite") == f"# allow: untested-rewrite\n{text}"


def test_where_no_comment_can_stand_none_is_offered():
    """Several statements on one line leave no room."""
    titles = [fix.message for _, fix in _offered(f'target site {{ {_DOT} test "/a.b" -> "/c" }}')]
    assert "allow `unescaped-dot` here" not in titles


def test_mistakes_cannot_be_allowed():
    """Diagnostics of parser and compiler, and those about allowances, have no such action."""
    text = site('rewrite `^/(` -> "/b"', 'test "/a" -> unchanged  # allow: no-effekt')
    assert [fix.message for _, fix in _offered(text) if fix.message.startswith("allow")] == []


def test_only_what_touches_the_stretch_is_offered():
    """An editor asks for the place of the cursor."""
    text = site(_DOT, 'rewrite `^/d.e$` -> "/f"')
    offset = text.index("d.e") + 1
    found = list(actions(analysed(text), NAME, offset, offset))
    assert {finding.span.start for finding, _ in found} == {offset}


def test_all_safe_fixes_can_be_had_at_once():
    """As `lint --fix` applies them."""
    text = site('rewrite `^/a(?P<x>b)$` -> "/c"', 'test "/ab" -> "/c"  # allow: no-effect')
    fixed = after(text, [edit for fix in safe_fixes(analysed(text), NAME) for edit in fix.edits])
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
def test_what_is_allowed_is_not_found_again(statements):
    """Every such action does what it says, wherever it is offered."""
    text = site(*statements)
    for _, fix in _offered(text):
        if fix.message.startswith("allow"):
            changed = after(text, fix.edits)
            assert len(_codes(changed)) < len(_codes(text)), changed


def test_between_statements_there_is_nothing_to_allow():
    """The finding has no statement for a comment."""
    text = "target site {}\n# allow: unescaped-dot\n"
    assert [fix.message for _, fix in _offered(text)] == ["remove it"]


_LONG = "target site {\n" + '  rewrite `^/a$`->"/b"\n' * 2001 + "}\n"


@pytest.mark.parametrize(
    "text",
    [
        'target site{rewrite `^/a`->"/b"}',
        "target site {\n\n\n}\n",
        "# x\r\ntarget site {}\r\n",
        "target a {}\ntarget b {}",
        _LONG,
    ],
    ids=["one line", "blank lines", "CR LF", "no line end", "long"],
)
def test_the_edits_lay_out_the_file(text):
    """The result is the layout of `fmt`."""
    found = parsed(text)
    assert after(text, layout_edits(found)) == print_document(found.document)


def test_lines_that_stay_are_not_touched():
    """Only the line that changes is replaced."""
    text = 'target site {\n    rewrite `^/a$` -> "/b"\n\n  test "/a" -> "/b"\n}\n'
    (edit,) = layout_edits(parsed(text))
    assert edit.span.text == '  test "/a" -> "/b"\n'


@pytest.mark.parametrize("text", ["", "target site {}\n", "target site {", "target site { rewrit }"])
def test_a_file_in_its_layout_or_with_a_mistake_is_left_alone(text):
    """A file with a syntax error has no layout."""
    assert layout_edits(parsed(text)) == ()


@given(st.text(alphabet='target{} site\n\r"`#\u2028->', max_size=50))
def test_no_text_makes_it_fail(text):
    """A text without mistakes gets its layout."""
    found = parsed(text)
    if not found.diagnostics:
        assert after(text, layout_edits(found)) == print_document(found.document)
