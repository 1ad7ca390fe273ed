"""Lists of addresses: read with the rules, and applied as one of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loaded_rules import loaded, mistakes_of, rules_of
from rule_texts import document

from tornado_proxy.rules.diagnostic import SourceFile
from tornado_proxy.rules.lists import list_path, read_list, read_lists
from tornado_proxy.rules.loading import Read, RuleFile, compile_rule_files, read_rule_files
from tornado_proxy.rules.tree import ListStatement, RuleKind


def _moved(statements, key, **lists):
    return str(rules_of(statements, **lists).rewrite(key, user="ann").moved)


MOVED = """\
# from, to
/a%20b  /c%20d   # a comment
/x\thttps://example.org/y?z=1\t308
/é /ü 301

/x /again
"""


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("/a b", "redirect 303 /c%20d"),
        ("/x", "redirect 308 https://example.org/y?z=1"),
        ("/é", "redirect 301 /%C3%BC"),
        ("/X", "None"),
        ("/a", "None"),
    ],
)
def test_a_list_redirects_exact_addresses(key, answer):
    """A line has a status of its own, or that of the statement; the first line of an address counts."""
    assert _moved("redirects 303 `m.txt`", key, m=MOVED) == answer


def test_a_list_may_ignore_case():
    """Both the list and the request may be in any case."""
    assert _moved("redirects `m.txt` ignoring case", "/STRASSE", m="/Straße /b") == "redirect 302 /b"


def test_a_list_of_rewrites_has_keys():
    """A key is decoded, and a directory stays one."""
    rules = rules_of("rewrites `m.txt`", m="/a /b%20c\n/d/ /e\n")
    assert [rules.rewrite(key).key for key in ("/a", "/d/", "/x")] == ["/b c", "/e/", "/x"]


def test_a_list_stands_at_the_place_of_its_statement():
    """A rule before it that matches comes first, one after it does not."""
    rules = rules_of(
        "gone `^/1`\nredirects `m.txt`\nrewrite `^/` -> `/z`\nredirects `n.txt`", m="/1 /m\n/2 /m", n="/2 /n\n/3 /n"
    )
    assert [str(rules.rewrite(key).moved) for key in ("/1", "/2", "/3")] == ["gone", "redirect 302 /m", "None"]
    assert [each.label for each in rules.counted] == ["#1", "m.txt", "#3", "n.txt"]


def test_a_line_is_a_rule():
    """Its label is that of the list, its place that of the line."""
    rules = rules_of("redirects `m.txt`", m=MOVED)
    line = rules.taker("/é")
    assert (line.label, line.number, line.span.place, line.span.text) == ("m.txt", 1, "rules/m.txt:4:1", "/é /ü 301")
    assert (line.kind, line.name, line.source_text, line.result_text) == (RuleKind.REDIRECT, None, "m.txt", "/%C3%BC")
    assert line.making != rules.taker("/x").making
    ((list_),) = rules.lists
    assert (list_.doubles, [address for address, _ in list_]) == (((6, 3),), ["/a b", "/x", "/é"])
    assert list_.making[2] == MOVED
    assert list_.making != rules_of("redirects `m.txt`", m="/a /b").lists[0].making
    assert (list_.span.text, list_.source_text, list_.result_text) == ("redirects `m.txt`", "m.txt", "")


@pytest.mark.parametrize(
    ("line", "place", "message"),
    [
        ("a /b", "1:1", "the address does not begin with `/`"),
        ("/a?x=1 /b", "1:1", "the address has a query or a fragment, which no key has"),
        ("/a/../b /b", "1:1", "the address contains a `.` or `..` segment"),
        ("/a", "1:1", "the line does not say where its address leads"),
        ("/a /b 200", "1:7", "`200` is not the status of a redirect"),
        ("/a /b x", "1:7", "`x` is not the status of a redirect"),
        ("/a /b 3٠1", "1:7", "`3٠1` is not the status of a redirect"),
        ("/a /b 301 /c", "1:10", "the line has too many columns"),
        ("/a /\x02/evil.org\x03", "1:4", "the result contains a control character"),
        ("/a //evil.org", "1:4", "the result begins with `//`, which would name a host"),
        ("/a /%2e%2e/b", "1:4", "the result contains a `.` or `..` segment"),
        ("/a b", "1:4", "the result is neither a path nor a URL"),
    ],
)
def test_a_bad_line_has_a_place_and_a_cure(line, place, message):
    """Each mistake of a list names line and column."""
    (mistake,) = loaded("redirects `m.txt`", m=f"{line}\n/ok /b\n").diagnostics
    assert (mistake.code, mistake.place, mistake.message) == ("bad-line", f"rules/m.txt:{place}", message)
    assert mistake.help == "a line is an address, where it leads, and a status if need be: `/old /new 301`"


@pytest.mark.parametrize(
    ("line", "message"),
    [("/a b", "the result does not begin with `/`"), ("/a /b 301", "`301` is not the status of a redirect")],
)
def test_a_bad_line_of_rewrites(line, message):
    """A key begins with a slash, and has no status."""
    assert [each[2] for each in mistakes_of("rewrites `m.txt`", m=line)] == [message]


def test_mistakes_of_a_list_are_counted():
    """No more than a thousand are reported."""
    assert len(mistakes_of("redirects `m.txt`", m="x\n" * 2000)) == 1000


def test_a_list_that_cannot_be_read_is_a_mistake(tmp_path):
    """Its place is the name in the statement."""
    assert mistakes_of("redirects `n.txt`", m="") == [
        (
            "unreadable-list",
            "rules/site.rules:2:11",
            "the list `n.txt` cannot be read: it was not there when the rules were read",
        )
    ]
    (tmp_path / "bad.txt").write_bytes(b"\xff /b")
    rules = RuleFile(str(tmp_path / "site.rules"), b"target site { redirects `bad.txt` redirects `no.txt` }")
    assert [each.code for each in compile_rule_files([rules]).diagnostics] == ["not-utf-8", "unreadable-list"]


def test_lists_are_read_with_therules_of(tmp_path):
    """Each list that a rule file names is read once, relative to it; why one cannot be read is kept."""
    (tmp_path / "site.rules").write_text('target site { redirects `l/m.txt` redirects 301 "l/m.txt" rewrites `n.txt` }')
    (tmp_path / "l").mkdir()
    (tmp_path / "l" / "m.txt").write_text("/a /b")
    read = read_rule_files([tmp_path])
    assert read.lists == {str(tmp_path / "l" / "m.txt"): b"/a /b", str(tmp_path / "n.txt"): "No such file or directory"}
    assert read.list_files == (RuleFile(str(tmp_path / "l" / "m.txt"), b"/a /b"),)
    with pytest.raises(OSError, match="No such file"):
        read.list_file(str(tmp_path / "n.txt"))


def test_lists_have_a_size(tmp_path, monkeypatch):
    monkeypatch.setattr("tornado_proxy.rules.lists.LARGEST_LISTS", 6)
    (tmp_path / "site.rules").write_text("target site { redirects `a` redirects `b` }")
    for name in "ab":
        (tmp_path / name).write_text("/a /b")
    assert [*read_rule_files([tmp_path]).lists.values()] == [b"/a /b", "the lists are larger than 0 MiB together"]


def test_an_unchanged_list_is_not_read_again():
    """Its lines are those of before, even if its statement moved."""
    before = loaded("redirects `m.txt`", m=MOVED)
    rules = RuleFile("rules/site.rules", b"target site {\n\ngone `^/q`\nredirects `m.txt`\n}\n")
    lists = Read((), lists={"rules/m.txt": MOVED.encode()})
    after = compile_rule_files([rules], before, list_file=lists.list_file)
    old, new = (each.rule_sets["site"].lists[0] for each in (before, after))
    assert new.lines is old.lines
    assert (new.number, new.statement.span.first.line) == (2, 4)


def test_an_unchanged_target_is_that_of_before():
    before = loaded("redirects `m.txt`\ngone `^/a`", m=MOVED)
    rules = RuleFile("rules/site.rules", b"target site {\nredirects `m.txt`\ngone `^/a`\n}\n# more\n")
    after = compile_rule_files([rules], before, list_file=Read((), lists={"rules/m.txt": MOVED.encode()}).list_file)
    assert after.rule_sets["site"] is before.rule_sets["site"]


_ADDRESSES = st.lists(
    st.tuples(
        st.sampled_from(["/a", "/b", "/B", "/c d", "/é", "/e/"]),
        st.sampled_from(["/x", "/y z", "/ü?q=1"]),
        st.sampled_from([301, 308]),
    ),
    max_size=6,
)


@given(_ADDRESSES)
def test_a_list_answers_as_statements_would(addresses):
    """For each address, a list gives the answer of the ordered statements of its lines."""
    lines = "".join(
        f"{address} {to} {status}\n".replace("c d", "c%20d").replace("y z", "y%20z")
        for address, to, status in addresses
    )
    statements = "\n".join(f"redirect {status} `^{address}$` -> `{to}`" for address, to, status in addresses)
    listed, stated = rules_of("redirects `m.txt`", m=lines), rules_of(statements)
    for key in ("/a", "/b", "/B", "/c d", "/é", "/e/", "/e"):
        assert listed.rewrite(key).moved == stated.rewrite(key).moved


def test_a_list_reads_a_hundred_thousand_lines_as_one_rule():
    """Each line is one entry of a dictionary."""
    (statement,) = document('target site { redirects "m.txt" }').blocks[0].statements
    assert isinstance(statement, ListStatement)
    text = "".join(f"/old/{number} /new/{number}\n" for number in range(100_000))
    made, mistakes = read_list(statement, SourceFile(str(Path("m.txt")), text))
    assert (len(made.lines), mistakes, made.find("/old/99999").result_text) == (100_000, [], "/new/99999")


def test_a_name_may_be_no_file_s(tmp_path):
    """It is a mistake of the rules, not of the program."""
    (tmp_path / "site.rules").write_bytes(b"target site { redirects `a\0b` }")
    assert [*read_rule_files([tmp_path]).lists.values()] == ["its name contains a NUL"]
    (tmp_path / "site.rules").write_text(r'target site { redirects "\q" }')
    assert read_rule_files([tmp_path]).lists == {}
    rules = RuleFile("site.rules", b'target site { redirects "\\u0000" }')
    assert [each.code for each in compile_rule_files([rules]).diagnostics] == ["unreadable-list"]


@pytest.mark.parametrize("written", [r'"caf\u00e9 \"1\".txt"', '"café \\"1\\".txt"', '`café "1".txt`'])
def test_the_name_of_a_list_is_a_string_like_others(tmp_path, written):
    """The service finds the list whose name a rule file writes with escapes, or raw."""
    tmp_path.joinpath('café "1".txt').write_text("/a /b")
    tmp_path.joinpath("site.rules").write_text(f"target site {{ redirects {written} }}")
    assert [*read_rule_files([tmp_path]).lists.values()] == [b"/a /b"]


@pytest.mark.parametrize("text", [r'target site { redirects "a\ud800b.txt" }', r'# see redirects "\udfff"'])
def test_a_name_that_no_file_can_have_is_left_to_the_parser(tmp_path, text):
    """No file has a name with a lone surrogate: the service looks for none, and the parser reports it."""
    tmp_path.joinpath("site.rules").write_text(text)
    assert read_rule_files([tmp_path]).lists == {}


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=20), st.booleans())
def test_the_service_looks_for_the_name_that_the_parser_reads(name, is_ascii):
    """What finds lists in the text of rules reads a quoted name as the language does."""
    text = f"target site {{ redirects {json.dumps(name, ensure_ascii=is_ascii)} }}"
    [statement] = document(text).blocks[0].statements
    assert [*read_lists([("r/site.rules", text.encode())])] == [list_path("r/site.rules", statement.file.value)]
