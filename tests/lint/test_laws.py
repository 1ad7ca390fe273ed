"""Properties of the linter for arbitrary rule files."""

from __future__ import annotations

from itertools import product

import pytest
from documents import documents
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from linting import block, loaded, rule_files
from linting import settings as configured

from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import INTERNAL_ERROR, LintReport, LintSettings, applicable, edited, fix_all, lint
from tornado_proxy.lint.reporters import FORMATS
from tornado_proxy.lint.subject import subject_of
from tornado_proxy.rules.diagnostic import Diagnostic, Safety
from tornado_proxy.rules.loading import RuleFile, compile_documents, compile_rule_files
from tornado_proxy.rules.model import LoadedRules

slow = settings(suppress_health_check=[HealthCheck.too_slow])

CONFIGURATION = configured("targets: {site: {mount: {path: [/]}, bucket: {name: files, region: eu-west-1}}}")
KEYS = ["".join(parts) for length in range(5) for parts in product("/ab.", repeat=length)]

_sources = st.sampled_from(
    (
        *("^/a$", "^/b", "/a", "a", "^a", "^/(a|b)$", "^/(?P<x>[^/]+)$", "^/(?P<x>.*)/b$", "/$", "[^/]$", "^/a.b$", ""),
        *(r"^/a\?x=", "^/%41", "^/(?P<x>a)(?P<y>b)?", "(?i)^/A$", "^(?:/a|/b)", r"\.b$", r"\ba\b", "^/(.*)$", "(", "^"),
    )
)
_templates = st.sampled_from(
    (
        *(
            '"/a"', '"b"', '"/$x"', '"/$1x"', '"$0"', '"/a/$x/"', '"/b.b"', '"/{{ key }}"', '"/${y}"',
            '"https://a/"', '""',
        ),
        *('" y"', '"\\ty/$x"', "`\n y`", 'jinja " y"', "jinja `\n\x1f y\n{{ key }}`", "go `\n\u3000 y\n z{{ .Key }}`"),
        *('"/b/${x"', r"`/\1/{{ x }}`", '"/$x/$(y)"', '"%1"', '"${x"', '"https://a b/"'),
        *(
            'jinja "/{{ user.username }}"',
            'jinja "/{{ request.headers.a }}"',
            "jinja `{{ groups['1'] }}`",
            'jinja "/{{"',
        ),
        *(
            'go "/{{ .Key }}"',
            'go "{{ range .User.GetGroups }}/{{ . }}{{ end }}"',
            'go `{{ .Request.Header.Get "A" }}`',
        ),
    )
)  # fmt: skip
_comments = st.sampled_from(
    (
        "",
        "",
        "# allow: unescaped-dot\n",
        "# allow: unanchored-source, unused-group (x)\n",
        "# allow-file: no-effect\n",
        "# x\n",
    )
)
_rewrites = st.builds("{}rewrite `{}` -> {}\n".format, _comments, _sources, _templates)
LISTS = {
    "moved.txt": "/a /b\n/b/b /a 301\n/ /\n/a /c\n/%41 https://a/\n",
    "keys.txt": "/a /a\n/b /a\n/ab /a/\n/b/ /b.b\n",
}
_redirects = st.builds(
    "{}redirect{} `{}` -> {}\n".format,
    _comments,
    st.sampled_from(("", " if missing", " 308")),
    _sources,
    st.sampled_from(
        (
            *('"/a"', '"/$x"', '"/a/$x/b?c=d"', '"https://a/$1"', '"b"', '"/b/../$x"', '"/a%20?x=1"', '"/{{ key }}"'),
            *('jinja "/a{{ key }}"', 'jinja "/{{ user.username }}"', 'go "/b?{{ .Key }}"', 'jinja "{{ key }}"'),
        )
    ),
)
_lists = st.builds(
    "{}{}{}\n".format,
    _comments,
    st.sampled_from(('redirects "moved.txt"', 'redirects if missing 301 "moved.txt"', 'rewrites "keys.txt"')),
    st.sampled_from(("", " ignoring case")),
)
_moved = _redirects | st.builds("{}gone `{}`\n".format, _comments, _sources) | _lists
_tests = st.builds(
    "test `{}`{} -> {}\n".format,
    st.sampled_from(("/a", "/b/b", "/", "a", "/%41?x=")),
    st.sampled_from(("", ' as "ann"')),
    st.sampled_from(("`/a`", "unchanged", "error", "gone", "redirect `/b`")),
)
blocks = st.lists(_rewrites | _tests | _moved, max_size=6).map("".join).map(block)


def _lint(files: list[RuleFile]) -> LintReport:
    return lint(subject_of(loaded(files, LISTS), CONFIGURATION), CHECKS)


def _is_consistent(report: LintReport) -> bool:
    """Returns whether no check has failed, and every span lies within its file."""
    return not report.broken and all(_is_placed(diagnostic) for diagnostic in report.diagnostics)


def _is_placed(diagnostic: Diagnostic) -> bool:
    edits = [edit.span for fix in diagnostic.fixes for edit in fix.edits]
    spans = [diagnostic.span, *(note.span for note in diagnostic.notes), *edits]
    return all(0 <= span.start <= span.end <= len(span.source.text) for span in spans if span)


@given(st.text(max_size=60))
def test_no_text_makes_a_check_fail(text):
    assert _is_consistent(_lint(rule_files(site=text)))


@slow
@given(blocks)
def test_no_rules_make_a_check_fail(text):
    assert _is_consistent(_lint(rule_files(site=text)))


# Sources that are too large for an automaton, and some that are nearly too large.
_NAMES = ["".join(pair) * 5 for pair in product("abcdefghijklmno", repeat=2)]
_large = st.sampled_from(
    (
        *("|".join(_NAMES), "|".join(_NAMES[:190]), "(?:[a-z]{500}/){2}", "[ab]{1000}[cd]{1000}.", "(?:a|b){1000}"),
        *(r"(?:\bx\w{900}){1}y{900}z{201}", "(?P<x>a{999})(?P<y>b?){1000}c{3}", "(?:" * 60 + "a" + ")" * 60),
    )
)
_around = st.sampled_from(("^/(?:{})$", "^/({})/(.*)$", "/(?:{})", "(?:{})", "(?i)^/(?:{})", "(?:{})$", "^(?:/|{})"))
_unproved = st.builds("rewrite `{}` -> {}\n".format, st.builds(str.replace, _around, st.just("{}"), _large), _templates)


@slow
@given(st.lists(_unproved | _rewrites | _tests, max_size=4).map("".join).map(block))
def test_no_source_is_too_large_for_a_check(text):
    """No check fails on a source that is too large for a proof."""
    assert _is_consistent(_lint(rule_files(site=text)))


@slow
@given(st.lists(documents, max_size=2))
def test_no_tree_makes_a_check_fail(trees):
    compiled = compile_documents(trees)
    report = lint(subject_of(LoadedRules(tuple(trees), compiled.rule_sets, compiled.diagnostics)), CHECKS)
    assert INTERNAL_ERROR not in {diagnostic.code for diagnostic in report.diagnostics}


@slow
@given(blocks)
def test_safe_fixes_change_no_key(text):
    """After `--fix` every key has the same result as before, and there is no new mistake."""
    before = loaded(rule_files(site=text), LISTS)
    fixed = fix_all(rule_files(site=text), lambda files: _lint(list(files)), frozenset({Safety.SAFE}))
    after = loaded(fixed.files, LISTS)
    if before.diagnostics:
        return
    assert after.diagnostics == ()
    for key in KEYS[1:86]:
        results = [_result(compiled, key) for compiled in (before, after)]
        assert results[0] == results[1], key


def _result(compiled: LoadedRules, key: str) -> str:
    try:
        rewritten = compiled.rule_sets["site"].rewrite(key, user="ann", headers=(("a", "b"),))
    except Exception as error:  # noqa: BLE001 - a rewrite that fails must fail in the same way after the fixes
        return type(error).__name__
    else:
        return f"{rewritten.key} {rewritten.moved}"


@slow
@given(blocks)
@example('target site {\nrewrite `^/a$` -> "https://a b/"\nredirects "moved.txt"\n}\n')
def test_all_fixes_are_applied(text):
    """After all fixes, only those that would break the file are left."""
    allowed = frozenset({Safety.SAFE, Safety.UNSAFE})
    mistakes = _mistakes(text)
    fixed = fix_all(rule_files(site=text), lambda files: _lint(list(files)), allowed)
    after = fixed.files[0].data.decode()
    assert _mistakes(after) <= mistakes
    for fix in applicable(fixed.report.diagnostics, allowed):
        if fix.edits[0].span.source.name in LISTS:
            continue
        assert _mistakes(edited(after, fix.edits)) > _mistakes(after), fix


def _mistakes(text: str) -> int:
    return len(loaded(rule_files(site=text), LISTS).diagnostics)


@slow
@given(blocks)
@example('target site {\ngone `^/a$`\nredirects "moved.txt" ignoring case\nrewrites "keys.txt" ignoring case\n}\n')
@example(
    'target site {\nrewrite `^/a$` -> "/a"\nredirects "moved.txt" ignoring case\n'
    'gone `^/[^/]+$`\nrewrite `(?i)^/A$` -> "/a"\n}\n'
)
def test_a_fix_removes_a_finding(text):
    files = rule_files(site=text)
    report = _lint(files)
    for diagnostic in report.diagnostics:
        for fix in diagnostic.fixes:
            if fix.edits[0].span.source.name in LISTS:
                continue
            after, code = edited(text, fix.edits), diagnostic.code
            changed = [RuleFile(files[0].name, after.encode())]
            assert _count(_lint(changed), code) < _count(report, code), (code, after)


def _count(report: LintReport, code: str) -> int:
    return sum(diagnostic.code == code for diagnostic in report.diagnostics)


@slow
@given(st.lists(_sources.filter(lambda source: source != "("), max_size=6))
def test_an_unreachable_rewrite_matches_no_short_key(sources):
    """No short key reaches a rewrite that is reported as unreachable or unmatchable."""
    text = block("\n".join(f"rewrite `{source}` -> `/{number}`" for number, source in enumerate(sources)))
    settings = LintSettings(frozenset({"unreachable-rewrite", "unmatchable-source", "duplicate-rewrite"}))
    subject = subject_of(compile_rule_files(rule_files(site=text)))
    report = lint(subject, CHECKS, settings)
    dead = {diagnostic.span for diagnostic in report.diagnostics}
    (target,) = subject.targets
    matched = (target.rule_set.taker(key) for key in KEYS if key.startswith("/"))
    alive = {rewrite.statement.source.span for rewrite in matched if rewrite}
    assert dead.isdisjoint(alive)


@pytest.mark.parametrize("name", FORMATS)
@given(text=blocks | st.text(max_size=30), file=st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=8))
@settings(max_examples=15)
def test_every_format_prints_any_report(name, text, file):
    report = _lint([RuleFile(file, text.encode(errors="replace"))])
    assert isinstance(FORMATS[name](report), str)
