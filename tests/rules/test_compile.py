import subprocess
import sys

import pytest
from rule_texts import document

from tornado_proxy.rules.compile import compile_documents, unknown_targets
from tornado_proxy.rules.diagnostic import Safety, SourceFile
from tornado_proxy.rules.parser import parse


def _compiled(*texts):
    return compile_documents([document(text) for text in texts])


def _diagnostic(statements):
    (diagnostic,) = _compiled(f"target site {{\n{statements}\n}}").diagnostics
    return diagnostic


def test_blocks_of_one_target_add_up_in_order():
    """Blocks of one target are joined in order, and their rewrites are numbered together."""
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
    assert (diagnostic.code, diagnostic.message, diagnostic.place) == (
        "duplicate-name",
        "`site` has two rewrites named `home`",
        "site.rules:3:9",
    )
    (note,) = diagnostic.notes
    assert note.span is not None
    assert (note.message, note.span.place) == ("the first is here", "site.rules:2:9")


def test_rewrites_of_different_targets_may_have_one_name():
    """A name must be unique within its target only."""
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
    assert diagnostic.span is not None
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
        (
            "go `/{{ nofunc $x .Kye }}{{ .Key + 1 }}{{ upper .Key .Key }}`",
            ["nofunc", "$x", "Kye", "+", "upper .Key .Key"],
        ),
        ("jinja `/{{ usr | nofilter }}{{ key + }}{{ groups.y }}`", ["usr", "nofilter", "}}", "groups.y"]),
        # An action that assigns or branches is kept, because other actions may depend on it.
        ("go `/{{ $x := nofunc }}{{ $x + 1 }}{{ if 1 + 2 }}{{ end }}{{ $y }}`", ["+", "+"]),
    ],
)
def test_one_run_finds_all_mistakes_of_a_template(template, marked):
    """A mistake hides neither other mistakes of its action nor mistakes of later actions."""
    diagnostics = _compiled(f"target site {{ rewrite `(?P<x>a)` -> {template} }}").diagnostics
    assert [diagnostic.span.text for diagnostic in diagnostics] == marked


def test_at_most_ten_mistakes_of_a_template_are_reported():
    """A template with thirty mistakes has ten diagnostics."""
    assert len(_compiled("target site { rewrite `a` -> go `/" + "{{ nofunc }}" * 30 + "` }").diagnostics) == 10


def test_a_rewrite_with_a_mistake_is_left_out_and_counted():
    """The rewrites after one with a mistake keep the numbers that they have in the file."""
    rules = _compiled('target a { rewrite `(` -> "/" rewrite `a` -> jinja "{{" rewrite `b` -> "/" }')
    assert [rewrite.label for rewrite in rules.rule_sets["a"].rewrites] == ["#3"]
    assert len(rules.diagnostics) == 2


def test_a_test_with_a_mistake_is_left_out():
    """A test with two mistakes has two diagnostics and is not in the rule set."""
    compiled = _compiled('target a { test "x" -> "y" test "/x" -> error }')
    assert len(compiled.rule_sets["a"].tests) == 1
    assert [diagnostic.code for diagnostic in compiled.diagnostics] == ["bad-test", "bad-test"]


def test_dialects_that_no_file_uses_are_not_imported():
    """Plain rules import neither Jinja2 nor the Go templates."""
    program = "import sys, tornado_proxy.rules.compile; print(sorted({'jinja2', 'lark'} & set(sys.modules)))"
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
    """A target that the configuration names is not reported."""
    assert _unknown_targets("target site {}", "site", "team") == []


def test_misspelt_target_is_reported_with_a_suggestion():
    """An unknown target has a similar configured name as its suggestion, and a fix that inserts it."""
    (diagnostic,) = _unknown_targets("target sit {}", "site", "team")
    assert (diagnostic.code, diagnostic.span.text, diagnostic.help) == ("unknown-target", "sit", "did you mean `site`?")
    assert [(fix.edits[0].text, fix.safety) for fix in diagnostic.fixes] == [("site", Safety.UNSAFE)]


def test_the_fix_of_a_target_quotes_a_name_if_necessary():
    """The fix writes a name with a space and an apostrophe between quotes."""
    (diagnostic,) = _unknown_targets("target annsfiles {}", "ann's files")
    assert diagnostic.fixes[0].edits[0].text == '"ann\'s files"'


def test_an_unknown_target_without_a_similar_name_has_no_fix():
    """The help of a target without a similar configured name names the option `targets`."""
    (diagnostic,) = _unknown_targets("target shop {}", "site")
    assert diagnostic.help == "name it in `targets` of the configuration"
    assert diagnostic.fixes == ()


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
    monkeypatch.setattr("tornado_proxy.rules.compile.MOST_SOURCE_MEMORY", 1 << 20)
    compiled = compile_documents([document_of_all])
    (diagnostic,) = compiled.diagnostics
    kept = len(compiled.rule_sets["site"].rewrites)
    assert 0 < kept < 19
    assert (diagnostic.code, diagnostic.span.text) == ("rules-too-large", rf"`\pL{{12}}{kept}`")
    assert diagnostic.message == "the sources up to this one take more than 1 MiB in compiled form"


def test_compiled_rules_count_again_when_they_are_reused(monkeypatch):
    """What was compiled before takes its memory still, so the limit holds for all rules that are in force."""
    before = _compiled("target site {\nrewrite `a` -> `/a`\n}")
    monkeypatch.setattr("tornado_proxy.rules.compile.MOST_SOURCE_MEMORY", 10)
    again = compile_documents([*before.documents], before.rule_sets)
    assert [each.code for each in again.diagnostics] == ["rules-too-large"]
