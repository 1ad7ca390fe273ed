import os
import tracemalloc
from pathlib import Path

import pytest

from tornado_proxy.rules import RuleFileError, load, loading
from tornado_proxy.rules.limits import LARGEST_RULES
from tornado_proxy.rules.loading import RuleFile, compile_rule_files, read_rule_files

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
    assert [diagnostic.place for diagnostic in caught.value.diagnostics] == [
        "rules/site.rules:2:12",
        "rules/site.rules:3:12",
    ]
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
    """A path that is missing or has no rule file is reported."""
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
    """A link to a missing file is reported, and the other files are read."""
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
    """A file above the limit is reported and not read."""
    with Path("large.rules").open("wb") as file:
        file.truncate(LARGEST_RULES + 1)
    assert _messages("large.rules") == ["the rule files are larger than 8 MiB together, counted up to `large.rules`"]


def test_the_sizes_of_rule_files_are_added_up(monkeypatch):
    """The limit holds for all rule files together."""
    monkeypatch.setattr(loading, "LARGEST_RULES", 30)
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
    """A directory whose path is too long for the system is reported."""
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
    """A file that isn't UTF-8 has a diagnostic, and the other files are compiled."""
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
