import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from rule_texts import document

from tornado_proxy.rules import RuleFileError, load, loading
from tornado_proxy.rules.diagnostic import Safety, Severity, SourceFile
from tornado_proxy.rules.limits import LARGEST_RULES
from tornado_proxy.rules.loading import (
    RuleFile,
    compile_documents,
    compile_rule_files,
    overruled_files,
    read_rule_files,
    unknown_targets,
)
from tornado_proxy.rules.parser import parse

RULES = 'target site { rewrite `^/a$` -> "/b" }'


@pytest.fixture(autouse=True)
def _in_directory(tmp_path, monkeypatch):
    """Changes to an empty directory, so that paths in messages are short."""
    monkeypatch.chdir(tmp_path)


def _write(*names, text=RULES):
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")


def _names(*paths):
    return [file.name for file in read_rule_files([Path(path) for path in paths]).files]


def _messages(*paths):
    return [diagnostic.message for diagnostic in read_rule_files([Path(path) for path in paths]).diagnostics]


def test_a_program_can_load_and_apply_rules():
    """The library loads a directory of rule files and rewrites a key of a target."""
    _write("rules/site.rules", text="target site { rewrite `^/file.html$` -> jinja `/{{ user.username }}/f` }")
    assert load("rules/")["site"].rewrite("/file.html", user="ann").key == "/ann/f"


def test_a_program_gets_an_exception_with_all_mistakes():
    """The exception of `load` has the diagnostics of all mistakes, and shows them as `lint` does."""
    _write("rules/site.rules", text="target site {\n  rewrite `(` -> `/`\n  rewrite `[` -> `/`\n}")
    with pytest.raises(RuleFileError) as caught:
        load("rules")
    expected = ["rules/site.rules:2:12", "rules/site.rules:3:12"]
    assert [diagnostic.place for diagnostic in caught.value.diagnostics] == expected
    assert "unclosed group" in str(caught.value)
    assert "unclosed class" in str(caught.value)


def test_files_are_sorted_by_the_bytes_of_their_relative_paths():
    """Directories and files are sorted together, upper case before lower case."""
    _write("r/b.rules", "r/a/z.rules", "r/a.rules", "r/B.rules", "r/é.rules", "r/a-b.rules")
    assert _names("r") == ["r/B.rules", "r/a-b.rules", "r/a.rules", "r/a/z.rules", "r/b.rules", "r/é.rules"]


def test_a_bucket_is_no_place_of_rules():
    """Rules are files; the help says how those of a bucket come into a directory."""
    (diagnostic,) = read_rule_files([Path("s3://b/rules/")]).diagnostics
    assert diagnostic.message == "`s3:/b/rules` is no path"
    assert diagnostic.help == "rules are files: sync the bucket into a directory, as docs/scaling.md shows"


def test_hidden_files_and_other_files_are_not_read():
    """Files without the suffix `.rules` and names that begin with a dot are skipped."""
    _write("r/a.rules", "r/b.txt", "r/.c.rules", "r/.git/d.rules", "r/rules", "r/e.rules~")
    assert _names("r") == ["r/a.rules"]


def test_the_files_of_a_config_map_are_read_once():
    """Rule files that are links into a hidden directory, as Kubernetes mounts a ConfigMap, are read once."""
    _write("r/..2026/a.rules")
    Path("r/..data").symlink_to("..2026")
    Path("r/a.rules").symlink_to("..data/a.rules")
    assert _names("r") == ["r/a.rules"]


def test_paths_are_read_in_order_and_each_file_once():
    """A file that is named twice is read once, and a file that is named itself may have any suffix."""
    _write("r/a.rules", "s/b.rules", "mine.txt")
    assert _names("s", "mine.txt", "r/a.rules", "r") == ["s/b.rules", "mine.txt", "r/a.rules"]


def test_circular_links_are_not_followed_for_ever():
    """A directory that several links lead to is read once."""
    _write("r/a/x.rules", "r/b/y.rules")
    Path("r/a/up").symlink_to("..")
    Path("r/a/b").symlink_to("../b")
    Path("r/b/a").symlink_to("../a")
    assert _names("r") == ["r/a/b/y.rules", "r/a/x.rules"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("empty", "`empty` has no rule file"),
        (".rules", "`.rules` has no rule file"),
        ("missing", "there is no `missing`"),
        ("missing.rules", "there is no `missing.rules`"),
        ("x" * 5000, f"there is no `{'x' * 5000}`"),
    ],
)
def test_a_path_without_rule_files_is_a_mistake(path, message):
    for name in ("empty", ".rules"):
        Path(name).mkdir()
    assert _messages(path) == [message]


@pytest.mark.parametrize("path", ["r", "r/a.rules", "r/b.rules"])
def test_a_directory_in_the_place_of_a_rule_file_is_reported(path):
    """A directory with the name of a rule file is a mistake if it has no rule file; otherwise its files are read."""
    _write("r/c.rules/x.rules", "r/c.rules/y.rules/z.rules")
    Path("r/a.rules").mkdir()
    _write("r/b.rules/README")
    places = [path] if path != "r" else ["r/a.rules", "r/b.rules"]
    assert _messages(path) == [f"`{place}` cannot be read: it is a directory" for place in places]


def test_a_broken_link_is_reported():
    _write("r/b.rules")
    Path("r/a.rules").symlink_to("nowhere")
    assert _messages("r") == ["`r/a.rules` cannot be read: No such file or directory"]
    assert _names("r") == ["r/b.rules"]


def test_a_pipe_among_rule_files_is_not_waited_for():
    """A pipe in a directory is reported without waiting for a writer."""
    Path("r").mkdir()
    os.mkfifo("r/a.rules")
    assert _messages("r") == ["`r/a.rules` cannot be read: it is not a regular file"]


def test_a_rule_file_that_is_too_large_is_not_read():
    with Path("large.rules").open("wb") as file:
        file.truncate(LARGEST_RULES + 1)
    assert _messages("large.rules") == ["the rule files are larger than 8 MiB together, counted up to `large.rules`"]


def test_the_sizes_of_rule_files_are_added_up(monkeypatch):
    monkeypatch.setattr(loading.limits, "LARGEST_RULES", 30)
    _write("r/a.rules", "r/b.rules", text="target a {}\n")
    assert _messages("r") == []
    _write("r/c.rules", text="target c {}\n")
    (message,) = _messages("r")
    assert message.endswith("counted up to `r/c.rules`")


@pytest.mark.parametrize("byte", [b"\0", b"\1", b"a", b'"', b" "])
def test_a_long_token_takes_little_memory(byte):
    """A token of one megabyte takes less than 20 bytes of memory for each of its bytes."""
    data = b"target a {" + byte * 1_000_000
    tracemalloc.start()
    compile_rule_files([RuleFile("a.rules", data)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000


def test_a_special_file_that_is_named_is_read():
    """A device that is named itself is read, because a shell may pass rules through one."""
    assert load("/dev/null") == {}


def test_a_special_file_is_refused_if_rules_are_read_again(tmp_path):
    """A pipe is refused for a service, which would wait for a writer at the next edit."""
    os.mkfifo("pipe.rules")
    (mistake,) = read_rule_files([Path("pipe.rules")], again=True).diagnostics
    assert mistake.message == "`pipe.rules` cannot be read: it is not a regular file"


def test_a_path_that_is_too_long_is_reported(tmp_path):
    _write("r/a.rules")
    directory = os.open("r", os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=directory)
        directory, parent = os.open("d" * 250, os.O_RDONLY, dir_fd=directory), directory
        os.close(parent)
    os.close(directory)
    (message,) = _messages("r")
    assert message.startswith("`r/ddd")
    assert message.endswith("cannot be read: File name too long")


def test_a_file_that_is_not_utf_8_is_reported_and_the_others_compiled():
    _write("r/b.rules")
    Path("r/a.rules").write_bytes(b"target \xff {}")
    loaded = compile_rule_files(read_rule_files([Path("r")]).files)
    assert [diagnostic.code for diagnostic in loaded.diagnostics] == ["not-utf-8"]
    assert list(loaded.rule_sets) == ["site"]
    assert [document.source.name for document in loaded.documents] == ["r/b.rules"]


def test_unchanged_files_are_not_parsed_again():
    """A file with the same text keeps its document and its diagnostics."""
    files = [RuleFile("a.rules", RULES.encode()), RuleFile("b.rules", b"target site { rewrit }")]
    known = compile_rule_files(files)
    edited = [files[0], RuleFile("b.rules", b"target site {}")]
    after = compile_rule_files(edited, known)
    assert after.documents[0] is known.documents[0]
    assert after == compile_rule_files(edited)
    assert compile_rule_files(files, after).diagnostics == known.diagnostics


def _compiled(*texts):
    return compile_documents([document(text) for text in texts])


def _diagnostic(statements):
    (diagnostic,) = _compiled(f"target site {{\n{statements}\n}}").diagnostics
    return diagnostic


def test_blocks_of_one_target_add_up_in_order():
    compiled = _compiled(
        'target a { rewrite `1` -> "/1" } target b { rewrite `2` -> "/2" }',
        'target a { rewrite `3` -> "/3" test "/1" -> "/1" }',
    )
    assert list(compiled.rule_sets) == ["a", "b"]
    assert [rewrite.pattern.text for rewrite in compiled.rule_sets["a"].rewrites] == ["1", "3"]
    assert [rewrite.number for rewrite in compiled.rule_sets["a"].rewrites] == [1, 2]
    assert len(compiled.rule_sets["a"].tests) == 1


def test_two_rewrites_of_a_target_cannot_have_one_name():
    """The second rewrite is reported, with a note at the first, and both are compiled."""
    diagnostic = _diagnostic('rewrite home `a` -> "/a"\nrewrite "home" `b` -> "/b"')
    expected = ("duplicate-name", "`site` has two rewrites named `home`", "site.rules:3:9")
    assert (diagnostic.code, diagnostic.message, diagnostic.place) == expected
    (note,) = diagnostic.notes
    assert (note.message, note.span.place) == ("the first is here", "site.rules:2:9")


def test_rewrites_of_different_targets_may_have_one_name():
    assert _compiled('target a { rewrite n `1` -> "/" } target b { rewrite n `1` -> "/" }').diagnostics == ()


@pytest.mark.parametrize(
    ("template", "place", "text", "message"),
    [
        ("jinja `/{{ usr.name }}`", "site.rules:2:26", "usr", "unknown variable `usr`"),
        (r'jinja "/\u00e9{{ groups.y }}"', "site.rules:2:32", "groups.y", "the source has no group `y`"),
    ],
)
def test_a_bad_template_is_reported_at_the_wrong_characters(template, place, text, message):
    """A mistake in a template has its exact place in the file, even behind an escape of a string."""
    diagnostic = _diagnostic(f"rewrite `(?P<x>a)` -> {template}".replace(" (", "("))
    assert (diagnostic.code, diagnostic.message, diagnostic.span.text) == ("bad-template", message, text)
    assert diagnostic.span.first.line == 2


@pytest.mark.parametrize(
    ("template", "marked"),
    [
        ("go `/{{ nofunc }}{{ .Key }}/{{ .Key | alsonot }}`", ["nofunc", "alsonot"]),
        ("jinja `/{{ usr }}{{ key|nofilter }}{{ groups.y }}`", ["usr", "nofilter", "groups.y"]),
        ("go `/{{ $x := nofunc }}{{ $x }}{{ alsonot }}`", ["nofunc", "alsonot"]),
        ("go `/{{ if nofunc }}a{{ end }}{{ alsonot }}`", ["nofunc", "alsonot"]),
        ("jinja `/{% if usr %}a{% endif %}{{ other }}`", ["usr", "other"]),
        ("go `/{{ nofunc $x .Kye }}{{ .Key + 1 }}{{ upper .Key .Key }}`", ["nofunc", "$x", "Kye", "+", "upper .Key .Key"]),
        ("jinja `/{{ usr | nofilter }}{{ key + }}{{ groups.y }}`", ["usr", "nofilter", "}}", "groups.y"]),
        # An action that assigns or branches is kept, because other actions may depend on it.
        ("go `/{{ $x := nofunc }}{{ $x + 1 }}{{ if 1 + 2 }}{{ end }}{{ $y }}`", ["+", "+"]),
    ],
)  # fmt: skip
def test_one_run_finds_all_mistakes_of_a_template(template, marked):
    """A mistake hides neither other mistakes of its action nor mistakes of later actions."""
    diagnostics = _compiled(f"target site {{ rewrite `(?P<x>a)` -> {template} }}").diagnostics
    assert [diagnostic.span.text for diagnostic in diagnostics] == marked


def test_at_most_ten_mistakes_of_a_template_are_reported():
    assert len(_compiled("target site { rewrite `a` -> go `/" + "{{ nofunc }}" * 30 + "` }").diagnostics) == 10


def test_a_rewrite_with_a_mistake_is_left_out_and_counted():
    """The rewrites after one with a mistake keep the numbers that they have in the file."""
    rules = _compiled('target a { rewrite `(` -> "/" rewrite `a` -> jinja "{{" rewrite `b` -> "/" }')
    assert [rewrite.label for rewrite in rules.rule_sets["a"].rewrites] == ["#3"]
    assert len(rules.diagnostics) == 2


def test_a_test_with_a_mistake_is_left_out():
    compiled = _compiled('target a { test "x" -> "y" test "/x" -> error }')
    assert len(compiled.rule_sets["a"].tests) == 1
    assert [diagnostic.code for diagnostic in compiled.diagnostics] == ["bad-test", "bad-test"]


def test_dialects_that_no_file_uses_are_not_imported():
    """Plain rules import neither Jinja2 nor the Go templates."""
    program = "import sys, tornado_proxy.rules.loading; print(sorted({'jinja2', 'lark'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "jinja2" not in result.stdout


def test_known_rewrites_are_not_compiled_again():
    """A rewrite with the same source, dialect and template keeps its compiled pattern and template."""
    before = _compiled('target a { rewrite `1` -> "/1" rewrite `2` -> "/2" }').rule_sets
    text = 'target a { rewrite `0` -> "/0" rewrite new `1` -> "/1" rewrite `2` -> jinja "/2" }'
    after = compile_documents([document(text)], before).rule_sets["a"].rewrites
    assert after[1].pattern is before["a"].rewrites[0].pattern
    assert after[1].template is before["a"].rewrites[0].template
    assert (after[1].name, after[1].number) == ("new", 2)
    assert after[2].dialect is not before["a"].rewrites[1].dialect


def test_rules_that_did_not_change_are_the_same_rule_set():
    """What holds them tells so without comparing them."""
    text = 'target a { rewrite `^/1$` -> "/1" test "/1" -> "/1" } target b { rewrite `^/1$` -> "/1" }'
    before = _compiled(text).rule_sets
    after = compile_documents([document(text.replace('"/1" }', '"/2" }', 2))], before).rule_sets
    assert compile_documents([document(text)], before).rule_sets["a"] is before["a"]
    assert after["b"] is not before["b"]


def test_rules_that_moved_have_their_new_places():
    """A comment above them, or a line end between them, moves them in all that is shown of them."""
    text = 'target a { rewrite `^/1$` -> "/1"  test "/1" -> "/1" }'
    before = _compiled(text).rule_sets
    for moved in (f"# a comment\n{text}", text.replace("  test", " \ntest")):
        after = compile_documents([document(moved)], before).rule_sets["a"]
        places = [each.statement.span.place for each in (*after.rewrites, *after.tests)]
        assert places == [each.span.place for each in document(moved).blocks[0].statements]


def _unknown_targets(text, *names):
    return list(unknown_targets([parse(SourceFile("site.rules", text)).document], names))


def test_known_targets_are_not_reported():
    assert _unknown_targets("target site {}", "site", "team") == []


def test_misspelt_target_is_reported_with_a_suggestion():
    """An unknown target has a similar configured name as its suggestion, and a fix that inserts it."""
    (diagnostic,) = _unknown_targets("target sit {}", "site", "team")
    assert (diagnostic.code, diagnostic.span.text, diagnostic.help) == ("unknown-target", "sit", "did you mean `site`?")
    assert [(fix.edits[0].text, fix.safety) for fix in diagnostic.fixes] == [("site", Safety.UNSAFE)]


def test_the_fix_of_a_target_quotes_a_name_if_necessary():
    (diagnostic,) = _unknown_targets("target annsfiles {}", "ann's files")
    assert diagnostic.fixes[0].edits[0].text == '"ann\'s files"'


def test_an_unknown_target_without_a_similar_name_has_no_fix():
    """The help of a target without a similar configured name names the option `targets`."""
    (diagnostic,) = _unknown_targets("target shop {}", "site")
    assert diagnostic.help == "name it in `targets` of the configuration"
    assert diagnostic.fixes == ()


def _overruled(**texts):
    files = [RuleFile(f"{name}.rules", text.encode()) for name, text in texts.items()]
    return list(overruled_files(compile_rule_files(files).rule_sets.values()))


def test_a_file_whose_copy_is_read_first_is_reported():
    """An edit of it has no effect, which its author would look for elsewhere."""
    copy = 'target site { rewrite `^/a$` -> "/b" rewrite `^/c$` -> "/d" }'
    (warning,) = _overruled(backup=copy, site=f'{copy} target other {{ rewrite `^/a$` -> "/x" }}')
    expected = ("overruled-file", Severity.WARNING, "site.rules:1:23")
    assert (warning.code, warning.severity, warning.span.place) == expected
    assert warning.message == ("2 rewrites of `site.rules` never apply: `backup.rules` has the same, and is read first")
    (single,) = _overruled(backup=copy, site='target site { rewrite `^/c$` -> "/e" rewrite `^/f$` -> "/g" }')
    assert single.message.startswith("1 rewrite of `site.rules` never applies")


def test_a_source_given_twice_in_one_file_overrules_no_file():
    """The linter reports it; the author sees both at once."""
    assert _overruled(site='target site { rewrite `^/a$` -> "/b" rewrite `^/a$` -> "/c" }') == []


def test_go_templates_may_call_the_helpers_of_their_target():
    """A Go template calls a helper of its target, and is compiled again if the helpers change."""
    text = 'target a { rewrite `^/x$` -> go `/{{ template "name" . }}` }'
    helpers = {"a": ('{{ define "name" }}one{{ end }}',)}
    first = compile_documents([document(text)], helpers=lambda name: helpers[name]).rule_sets
    assert first["a"].rewrite("/x").key == "/one"
    again = compile_documents([document(text)], first, lambda name: helpers[name]).rule_sets
    assert again["a"].rewrites[0].template is first["a"].rewrites[0].template
    helpers["a"] = ('{{ define "name" }}two{{ end }}',)
    changed = compile_documents([document(text)], first, lambda name: helpers[name]).rule_sets
    assert changed["a"].rewrite("/x").key == "/two"


def test_sources_that_take_too_much_memory_together_are_refused(monkeypatch):
    """The first source beyond the limit of memory has a diagnostic, and no other source is compiled after it."""
    rewrites = "\n".join(rf"rewrite `\pL{{12}}{number}` -> `/{number}`" for number in range(20))
    (document_of_all,) = [document(f"target site {{\n{rewrites}\n}}")]
    monkeypatch.setattr("tornado_proxy.rules.limits.MOST_SOURCE_MEMORY", 1 << 20)
    compiled = compile_documents([document_of_all])
    (diagnostic,) = compiled.diagnostics
    kept = len(compiled.rule_sets["site"].rewrites)
    assert 0 < kept < 19
    assert (diagnostic.code, diagnostic.span.text) == ("rules-too-large", rf"`\pL{{12}}{kept}`")
    assert diagnostic.message == "the sources up to this one take more than 1 MiB in compiled form"


def test_compiled_rules_count_again_when_they_are_reused(monkeypatch):
    """What was compiled before takes its memory still, so the limit holds for all rules that are in force."""
    before = _compiled("target site {\nrewrite `a` -> `/a`\n}")
    monkeypatch.setattr("tornado_proxy.rules.limits.MOST_SOURCE_MEMORY", 10)
    again = compile_documents([*before.documents], before.rule_sets)
    assert [each.code for each in again.diagnostics] == ["rules-too-large"]


@pytest.mark.parametrize("edited", ['redirect `/a` -> "/b"', 'redirect 308 `/a` -> "/b" without query'])
def test_an_edit_of_a_kind_or_of_a_status_is_another_rule(edited):
    """A rule with the texts of the one before at the same place is not that one."""
    before = compile_rule_files([RuleFile("a.rules", b'target site {\nredirect 301 `/a` -> "/b"\n}')])
    after = compile_rule_files([RuleFile("a.rules", f"target site {{\n{edited}\n}}".encode())], before)
    assert after.rule_sets["site"] != before.rule_sets["site"]
    assert after.rule_sets["site"].rewrites[0].statement.redirecting.status != 301


def test_all_that_is_many_can_be_freed_one_by_one():
    """Statements, rules, their tests, and the automata are pieces of what was loaded."""
    text = b'target site {\nrewrite `^/a` -> "/b"\nrewrite `^/c` -> "/d"\ntest "/a" -> "/b"\n}'
    loaded = compile_rule_files([RuleFile("a.rules", text)])
    (rules,), pieces = loaded.rule_sets.values(), {*map(id, loaded.pieces())}
    statements = loaded.documents[0].blocks[0].statements
    for each in (*statements, *rules.rewrites, *rules.tests, *rules.first_match.sets, rules.first_match):
        assert id(each) in pieces
