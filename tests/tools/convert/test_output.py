from __future__ import annotations

import stat

import pytest
import yaml
from conversions import target
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.tools.convert.output import Noted, Unsaved, configuration_text, save

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
