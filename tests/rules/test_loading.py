import os
import tracemalloc
from pathlib import Path

import pytest

from tornado_proxy.rules import RuleFileError, load, loading
from tornado_proxy.rules.loading import LARGEST, RuleFile, compile_rule_files, read_rule_files

RULES = 'target site { rewrite `^/a$` -> "/b" }'


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """Places are relative, so that names are short."""
    monkeypatch.chdir(tmp_path)


def _write(*names, text=RULES):
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")


def _names(*places):
    return [file.name for file in read_rule_files([Path(place) for place in places]).files]


def _messages(*places):
    return [diagnostic.message for diagnostic in read_rule_files([Path(place) for place in places]).diagnostics]


def test_a_rule_set_is_a_library_call_away():
    """A program can load a directory and rewrite a key of a target."""
    _write("rules/site.rules", text="target site { rewrite `^/file.html$` -> jinja `/{{ user.username }}/f` }")
    assert load("rules/")["site"].rewrite("/file.html", user="ann").key == "/ann/f"


def test_a_mistake_is_an_exception_that_shows_every_place():
    """The exception shows what the linter would show."""
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
    """Directories and files are sorted together; upper case comes before lower case."""
    _write("r/b.rules", "r/a/z.rules", "r/a.rules", "r/B.rules", "r/é.rules", "r/a-b.rules")
    assert _names("r") == ["r/B.rules", "r/a-b.rules", "r/a.rules", "r/a/z.rules", "r/b.rules", "r/é.rules"]


def test_only_rule_files_that_can_be_seen_are_read():
    """Other names, and names that begin with a dot, are skipped."""
    _write("r/a.rules", "r/b.txt", "r/.c.rules", "r/.git/d.rules", "r/rules", "r/e.rules~")
    assert _names("r") == ["r/a.rules"]


def test_a_config_map_is_read_once():
    """Kubernetes has the files in a hidden directory and links to them."""
    _write("r/..2026/a.rules")
    Path("r/..data").symlink_to("..2026")
    Path("r/a.rules").symlink_to("..data/a.rules")
    assert _names("r") == ["r/a.rules"]


def test_places_are_read_in_their_order_and_each_file_once():
    """A file that is named twice is read once; a file that is named may have any name."""
    _write("r/a.rules", "s/b.rules", "mine.txt")
    assert _names("s", "mine.txt", "r/a.rules", "r") == ["s/b.rules", "mine.txt", "r/a.rules"]


def test_links_that_lead_back_are_not_followed_for_ever():
    """A directory to which several names lead is read once."""
    _write("r/a/x.rules", "r/b/y.rules")
    Path("r/a/up").symlink_to("..")
    Path("r/a/b").symlink_to("../b")
    Path("r/b/a").symlink_to("../a")
    assert _names("r") == ["r/a/b/y.rules", "r/a/x.rules"]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("empty", "`empty` has no rule file"),
        ("missing", "there is no `missing`"),
        ("missing.rules", "there is no `missing.rules`"),
        ("x" * 5000, f"there is no `{'x' * 5000}`"),
    ],
)
def test_a_place_without_rule_files_is_a_mistake(place, message):
    """A misspelt directory is not an empty rule set."""
    Path("empty").mkdir()
    assert _messages(place) == [message]


def test_a_link_to_nothing_cannot_be_read():
    """A missing rule file is reported, and the others are read."""
    _write("r/b.rules")
    Path("r/a.rules").symlink_to("nowhere")
    assert _messages("r") == ["`r/a.rules` cannot be read: No such file or directory"]
    assert _names("r") == ["r/b.rules"]


def test_a_pipe_among_rule_files_is_not_waited_for():
    """Only regular files are opened, unless another file is named itself."""
    Path("r").mkdir()
    os.mkfifo("r/a.rules")
    assert _messages("r") == ["`r/a.rules` cannot be read: it is not a regular file"]


def test_a_file_that_is_too_large_is_not_read():
    """A device or a wrong name must not fill the memory."""
    with Path("large.rules").open("wb") as file:
        file.truncate(LARGEST + 1)
    assert _messages("large.rules") == ["the rule files are larger than 8 MiB together, counted up to `large.rules`"]


def test_files_of_a_set_are_counted_together(monkeypatch):
    """Many small files must not fill the memory either."""
    monkeypatch.setattr(loading, "LARGEST", 30)
    _write("r/a.rules", "r/b.rules", text="target a {}\n")
    assert _messages("r") == []
    _write("r/c.rules", text="target c {}\n")
    (message,) = _messages("r")
    assert message.endswith("counted up to `r/c.rules`")


@pytest.mark.parametrize("byte", [b"\0", b"\1", b"a", b'"', b" "])
def test_memory_for_a_token_does_not_grow_with_it(byte):
    """A token of a megabyte takes a few bytes of memory for each byte."""
    data = b"target a {" + byte * 1_000_000
    tracemalloc.start()
    compile_rule_files([RuleFile("a.rules", data)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000


def test_a_special_file_that_is_named_is_read():
    """A shell may pass rules through a device."""
    assert load("/dev/null") == {}


def test_a_special_file_that_is_to_be_read_again_is_not(tmp_path):
    """A service would wait for the pipe at the next edit."""
    os.mkfifo("pipe.rules")
    (mistake,) = read_rule_files([Path("pipe.rules")], again=True).diagnostics
    assert mistake.message == "`pipe.rules` cannot be read: it is not a regular file"


def test_a_directory_that_cannot_be_read_is_reported(tmp_path):
    """A path that is too long for the system is reported."""
    _write("r/a.rules")
    folder = os.open("r", os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=folder)
        folder, above = os.open("d" * 250, os.O_RDONLY, dir_fd=folder), folder
        os.close(above)
    os.close(folder)
    (message,) = _messages("r")
    assert message.startswith("`r/ddd")
    assert message.endswith("cannot be read: File name too long")


def test_a_file_that_is_not_utf_8_is_reported_and_the_others_compiled():
    """The other files are compiled all the same."""
    _write("r/b.rules")
    Path("r/a.rules").write_bytes(b"target \xff {}")
    loaded = compile_rule_files(read_rule_files([Path("r")]).files)
    assert [diagnostic.code for diagnostic in loaded.diagnostics] == ["not-utf-8"]
    assert list(loaded.rule_sets) == ["site"]
    assert [document.source.name for document in loaded.documents] == ["r/b.rules"]


def test_files_that_have_not_changed_are_parsed_once():
    """A file with the same text is not parsed again, and keeps its diagnostics."""
    files = [RuleFile("a.rules", RULES.encode()), RuleFile("b.rules", b"target site { rewrit }")]
    known = compile_rule_files(files)
    edited = [files[0], RuleFile("b.rules", b"target site {}")]
    after = compile_rule_files(edited, known)
    assert after.documents[0] is known.documents[0]
    assert after == compile_rule_files(edited)
    assert compile_rule_files(files, after).diagnostics == known.diagnostics
