from __future__ import annotations

import stat

import pytest
import yaml
from conversions import made, target
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.lang.diagnostic import SourceFile, Span
from tornado_proxy.tools.convert.options import OptionOutcome, Remark, Remarks
from tornado_proxy.tools.convert.output import (
    READINGS,
    ConversionReport,
    Noted,
    Unsaved,
    configuration_text,
    save,
    to_json,
    to_markdown,
    to_text,
)
from tornado_proxy.tools.convert.rewrites import KeysAs

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    [
        "yes",
        "1",
        "~",
        "a: b",
        "# x",
        "",
        "null",
        "2024-01-01",
        "*a",
        "5GiB",
        "\x85",
        "\ufeff",
        "a/b",
        "-",
        "1e3",
        "0x1",
        ".inf",
    ]
)
SETTINGS = st.dictionaries(
    TEXTS,
    st.recursive(
        TEXTS | st.booleans() | st.integers(),
        lambda inner: (
            st.lists(TEXTS)
            | st.lists(st.dictionaries(TEXTS, inner, min_size=1), max_size=3)
            | st.dictionaries(TEXTS, inner)
        ),
        max_leaves=8,
    ),
    min_size=1,
)


@given(SETTINGS)
def test_yaml_reads_what_was_written(settings):
    """Whatever the names and texts are."""
    assert yaml.safe_load(configuration_text(settings, ["made by hand"])) == settings


def test_the_layout_is_one_for_people():
    """Short mappings stand on a line, lists of mappings below one another, comments above what they speak of."""
    text = configuration_text(
        {
            "server": {"listenAddr": "", "port": 80},
            "targets": {"a": Noted({"b": {"c": 1, "d": {"e": "f"}}}, ("look\nhere",))},
            "resources": [{"path": "/**", "methods": ["GET"], "x": True}, {"path": "/b"}],
        },
        ["opening", ""],
    )
    assert text == (
        "# opening\n#\n\n"
        'server: {listenAddr: "", port: 80}\n'
        "targets:\n  # look here\n  a:\n    b:\n      c: 1\n      d: {e: f}\n"
        'resources:\n  - path: "/**"\n    methods: [GET]\n    x: true\n  - {path: /b}\n'
    )


def test_a_rule_file_tells_where_its_rules_come_from():
    """In its canonical layout, with what is left out in comments, in the order of the list."""
    done = target(
        "keyRewriteList:\n"
        "- {source: ^a$, target: b}\n"
        "- {source: ^/c$, target: d}\n"
        "- {source: z, target: /y}\n"
        "- {source: ^k(.*), target: 'm/$1'}\n"
        '- {source: "^\\t`x$", target: "a\\u2028b"}\n'
    )
    assert done.files["rules/site.rules"] == (
        "target site {\n"
        "    # From 0.yaml:7.\n"
        "    # It was: ^a$ -> b\n"
        '    rewrite `^/a$` -> "/b"\n'
        "\n"
        "    # Not needed, 0.yaml:8: no key that s3-proxy makes of a path matches it\n"
        "    # It was: ^/c$ -> d\n"
        "\n"
        "    # From 0.yaml:9.\n"
        '    rewrite `z` -> "/y"\n'
        "\n"
        "    # LEFT OUT, 0.yaml:10: the target cannot be carried over: between `/m/` and `$1` an empty segment, `//`, may"
        " result, which s3-proxy's SDK takes out (let the slash stand either in the group or beside it)\n"
        "    # It was: ^k(.*) -> m/$1\n"
        "\n"
        "    # Not needed, 0.yaml:11: no key that s3-proxy makes of a path matches it\n"
        "    # It was: ^ `x$ -> a b\n"
        "}\n"
    )


FILES = {"a.yaml": "secret: é\n", "rules/b.rules": "target b {}\n"}


def _names(directory):
    return sorted(str(each.relative_to(directory)) for each in directory.rglob("*") if each.is_file())


def test_files_are_written_for_their_owner_only(tmp_path):
    """They may hold what a configuration holds."""
    out = tmp_path / "new" / "out"
    save(FILES, out)
    assert _names(out) == ["a.yaml", "rules/b.rules"]
    assert (out / "a.yaml").read_bytes() == "secret: é\n".encode()
    assert stat.S_IMODE((out / "a.yaml").stat().st_mode) == 0o600


def test_nothing_is_replaced_without_force(tmp_path):
    """One file in the way is enough, and no other is written then."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "b.rules").symlink_to("nowhere")
    with pytest.raises(Unsaved, match=r"b\.rules` exists; `--force` replaces it"):
        save(FILES, tmp_path)
    assert not (tmp_path / "a.yaml").exists()


def test_force_replaces_what_is_there(tmp_path):
    """And leaves what it does not write."""
    (tmp_path / "a.yaml").write_text("old")
    (tmp_path / "other").write_text("kept")
    save(FILES, tmp_path, force=True)
    assert (tmp_path / "a.yaml").read_text() == FILES["a.yaml"]
    assert _names(tmp_path) == ["a.yaml", "other", "rules/b.rules"]


def test_a_failure_leaves_everything_as_it_was(tmp_path):
    """Nothing is put in its place before all is written; nothing half written stays."""
    (tmp_path / "a.yaml").write_text("old")
    (tmp_path / "rules").write_text("a file where a directory should be")
    with pytest.raises(Unsaved, match="cannot be written: "):
        save(FILES, tmp_path, force=True)
    assert (tmp_path / "a.yaml").read_text() == "old"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.yaml", "rules"]


SOURCES = [SourceFile(name, "1\n2\n3\n") for name in ("b.yaml", "a.yaml")]


def _report(*outcomes):
    remarks = Remarks()
    for outcome in outcomes:
        remarks.add(outcome, "x", Span(SOURCES[0], 0, 0), "said")
    return ConversionReport(KeysAs.ACTUAL, remarks.all())


def test_remarks_are_in_the_order_of_files_and_lines():
    """Those of one line as they were made."""
    remarks = Remarks()
    for file, offset, message in ((0, 2, "third"), (1, 4, "first"), (0, 0, "second"), (0, 3, "fourth")):
        remarks.add(OptionOutcome.CARRIED, "x", Span(SOURCES[file], offset, offset), message)
    assert [each.message for each in remarks.all()] == ["first", "second", "third", "fourth"]
    assert [each.where for each in remarks.all()] == ["a.yaml:3", "b.yaml:1", "b.yaml:2", "b.yaml:2"]


@pytest.mark.parametrize("outcome", OptionOutcome)
def test_a_conversion_is_complete_if_nothing_is_lost_or_changed(outcome):
    """What is proved to be the same needs no look."""
    assert _report(OptionOutcome.CARRIED, outcome).complete is (
        outcome in (OptionOutcome.CARRIED, OptionOutcome.ADAPTED)
    )


def test_remarks_are_found_by_outcome():
    """Of one, or of several."""
    report = _report(OptionOutcome.CARRIED, OptionOutcome.CLOSED, OptionOutcome.CHANGED)
    assert [each.outcome for each in report.of(OptionOutcome.CLOSED, OptionOutcome.CHANGED)] == [
        OptionOutcome.CLOSED,
        OptionOutcome.CHANGED,
    ]


PLACE = Span(SourceFile("conf.yaml", "a: 1\nb: 2\n"), 5, 6)
REPORT = ConversionReport(
    KeysAs.ACTUAL,
    (
        Remark(OptionOutcome.CARRIED, "a", "as `a`", PLACE),
        Remark(OptionOutcome.CLOSED, "b", "closed *to* `a*b`\nall", PLACE, "open it"),
        Remark(OptionOutcome.ADAPTED, "c", "otherwise", PLACE),
    ),
    ("site",),
)


def test_the_page_has_what_needs_a_look_first():
    """Outcomes in the order of their weight, places before subjects, nothing read as markup but code."""
    assert to_markdown(REPORT) == (
        f"# From s3-proxy to tornado-proxy\n\n{READINGS[KeysAs.ACTUAL]}\n\n"
        "**Nobody may use `site` yet:** what s3-proxy keeps closed could not be converted.\n\n"
        "## Closed\n\nNo equal, and open to nobody until you say who may: look at these first.\n\n"
        "- conf.yaml:2, `b`: closed \\*to\\* `a*b` all; open it\n\n"
        "## Written otherwise\n\nThe same on the same requests.\n\n- conf.yaml:2, `c`: otherwise\n\n"
        "## Carried over\n\nThe same.\n\n- conf.yaml:2, `a`: as `a`\n"
    )


def test_the_text_tells_only_what_needs_a_look():
    """What is the same is counted."""
    assert to_text(REPORT, ["out/report.md"]) == (
        f"{READINGS[KeysAs.ACTUAL]}\n\n"
        "Closed:\n  conf.yaml:2: b: closed *to* `a*b` all\n    help: open it\n\n"
        "1 carried over, 1 written otherwise; all of it is in the report.\nwrote out/report.md\n"
    )


def test_programs_get_every_remark():
    """With file and line, and whether there is anything to look at."""
    data = to_json(REPORT, ["out/report.md"])
    assert {name: data[name] for name in ("version", "complete", "keysAs", "closedTargets", "files")} == {
        "version": 1,
        "complete": False,
        "keysAs": "actual",
        "closedTargets": ["site"],
        "files": ["out/report.md"],
    }
    assert data["remarks"][1] == {
        "outcome": "closed",
        "subject": "b",
        "message": "closed *to* `a*b`\nall",
        "help": "open it",
        "file": "conf.yaml",
        "line": 2,
    }


def test_the_reading_is_told_that_was_taken():
    """And why."""
    documented = target("", keys_as=KeysAs.DOCUMENTED).report
    assert READINGS[KeysAs.DOCUMENTED] in to_markdown(documented)
    assert made("targets: {a: {mount: {path: [/]}, bucket: {name: b}}}").report.keys_as is KeysAs.ACTUAL
