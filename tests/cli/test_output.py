import errno
import io
import stat
import subprocess
import sys
import threading
from contextlib import redirect_stderr

import pytest

from tornado_proxy.cli.output import CommandError, activity, is_stream_error, print_diff, save, wants_color

FILL = """
import os, sys
from tornado_proxy.cli.output import fill_streams
fill_streams()
with open(sys.argv[1], "w") as report:
    is_null = [os.path.realpath(f"/proc/self/fd/{number}") == "/dev/null" for number in range(3)]
    print(is_null, [os.get_inheritable(number) for number in range(3)], file=report)
print(sys.stdin.read(0), "out")
print("err", file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("redirections", "closed"),
    [
        ("", [False, False, False]),
        ("2>&-", [False, False, True]),
        ("<&-", [True, False, False]),
        ("<&- >&- 2>&-", [True, True, True]),
    ],
)
def test_closed_streams_are_connected_to_the_null_device(tmp_path, redirections, closed):
    """A closed stream becomes the null device, in child processes too, and open streams stay as they are."""
    words = ["sh", "-c", f'exec "$0" -c "$1" "$2" {redirections}', sys.executable, FILL, str(tmp_path / "report")]
    result = subprocess.run(words, capture_output=True, text=True, check=True, input="")
    assert (tmp_path / "report").read_text() == f"{closed} [True, True, True]\n"
    assert (result.stdout == "", result.stderr == "") == (closed[1], closed[2])


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (OSError(errno.ENOSPC, "No space left on device", "a.rules"), False),
        (OSError(errno.ENOENT, "No such file or directory"), False),
    ],
)
def test_an_error_without_a_file_name_is_an_error_of_a_stream(error, expected):
    assert is_stream_error(error) is expected


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self):
        """Returns true."""
        return True


@pytest.mark.parametrize(
    ("environment", "on_terminal", "elsewhere"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, False, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ({"FORCE_COLOR": "", "NO_COLOR": ""}, True, False),
    ],
)
def test_color_depends_on_the_terminal_and_the_environment(monkeypatch, environment, on_terminal, elsewhere):
    """Colours are used on a terminal that supports them, unless FORCE_COLOR or, with priority, NO_COLOR is set."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (wants_color(Terminal()), wants_color(io.StringIO())) == (on_terminal, elsewhere)


def _print_diff(monkeypatch, capsys, *lines, force_color):
    monkeypatch.setenv("FORCE_COLOR", force_color)
    print_diff(lines)
    return capsys.readouterr().out.splitlines()


def test_removed_lines_are_red_and_added_lines_green(monkeypatch, capsys):
    lines = ["--- a", "+++ b", "@@ -1 +1 @@", "-old", "  + new", " same"]
    assert _print_diff(monkeypatch, capsys, *lines, force_color="1") == [
        "\x1b[1m--- a\x1b[0m",
        "\x1b[1m+++ b\x1b[0m",
        "\x1b[36m@@ -1 +1 @@\x1b[0m",
        "\x1b[31m-old\x1b[0m",
        "\x1b[32m  + new\x1b[0m",
        " same",
    ]


def test_control_characters_of_a_line_are_replaced(monkeypatch, capsys):
    """A printable symbol replaces each control character of a file, so that no line controls the terminal."""
    assert _print_diff(monkeypatch, capsys, "+\x1b[2J", "\x07", force_color="1") == ["\x1b[32m+␛[2J\x1b[0m", "␇"]


def test_a_diff_without_color_is_printed_unchanged(monkeypatch, capsys):
    """`patch` needs each character."""
    assert _print_diff(monkeypatch, capsys, "+\x07", force_color="") == ["+\x07"]


class WatchedTerminal(Terminal):
    """A terminal that sets an event once an elapsed time is shown."""

    def __init__(self):
        """Creates a terminal on which nothing is shown yet."""
        super().__init__()
        self.shown = threading.Event()

    def write(self, text):
        """Writes a text, and sets the event if the text contains an elapsed time."""
        if "…" in text:
            self.shown.set()
        return super().write(text)


def test_the_elapsed_time_of_long_work_is_shown_and_removed():
    """Work without a known length shows how long it has run."""
    with redirect_stderr(WatchedTerminal()) as terminal, activity("linting 3 files", 0.01):
        assert terminal.shown.wait(30)
    assert terminal.getvalue().startswith("\r\x1b[Klinting 3 files … 0 s")
    assert terminal.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(("stream", "delay"), [(Terminal, 60), (io.StringIO, 0)])
def test_no_elapsed_time_is_shown_for_short_work_or_without_a_terminal(stream, delay):
    """Nothing is printed if the work ends soon or standard error is no terminal."""
    with redirect_stderr(stream()) as terminal, activity("linting", delay):
        pass
    assert terminal.getvalue() == ""


FILES = {"a.yaml": "secret: é\n", "rules/b.rules": "target b {}\n"}


def _names(directory):
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


def test_files_are_written_for_their_owner_only(tmp_path):
    """The files may contain secrets."""
    out = tmp_path / "new" / "out"
    save(FILES, out)
    assert _names(out) == ["a.yaml", "rules/b.rules"]
    assert (out / "a.yaml").read_bytes() == "secret: é\n".encode()
    assert stat.S_IMODE((out / "a.yaml").stat().st_mode) == 0o600


def test_no_file_is_replaced_without_force(tmp_path):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "b.rules").symlink_to("nowhere")
    with pytest.raises(CommandError, match=r"b\.rules` exists; `--force` replaces it"):
        save(FILES, tmp_path)
    assert not (tmp_path / "a.yaml").exists()


def test_force_replaces_existing_files(tmp_path):
    (tmp_path / "a.yaml").write_text("old")
    (tmp_path / "other").write_text("kept")
    save(FILES, tmp_path, force=True)
    assert (tmp_path / "a.yaml").read_text() == FILES["a.yaml"]
    assert _names(tmp_path) == ["a.yaml", "other", "rules/b.rules"]


def test_a_failed_write_has_a_reason(tmp_path):
    (tmp_path / "rules").write_text("a file where a directory should be")
    with pytest.raises(CommandError, match="cannot be written: "):
        save(FILES, tmp_path)
