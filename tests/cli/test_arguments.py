from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from tornado_proxy.cli.arguments import default_places, number
from tornado_proxy.cli.main import main


def test_rules_are_searched_in_rules_or_the_current_directory(tmp_path, monkeypatch):
    """The default place is `rules/`, or the current directory if there is no `rules/`."""
    monkeypatch.chdir(tmp_path)
    assert default_places() == [Path()]
    Path("rules").mkdir()
    assert default_places() == [Path("rules")]


@pytest.mark.parametrize("command", [["fmt"], ["lint"], ["test"], ["explain", "/a", "--rules"]])
def test_an_empty_path_is_a_usage_error(command, tmp_path, monkeypatch, capsys):
    """An unset variable of a shell does not stand for the current directory, whose files would be read or formatted."""
    (tmp_path / "site.rules").write_text("target site{}")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as caught:
        main([*command, ""])
    assert caught.value.code == 2
    assert capsys.readouterr().err.endswith("a path cannot be empty\n")
    assert (tmp_path / "site.rules").read_text() == "target site{}"


@pytest.mark.parametrize(
    ("kind", "bounds", "text", "expected"),
    [
        (int, (1,), "3", 3),
        (float, (0, 100), "99.5", 99.5),
        (int, (1,), "0", "`0` is not a whole number of at least 1"),
        (int, (0, 65535), "x", "`x` is not a whole number from 0 to 65535"),
        (float, (0, 100), "nan", "`nan` is not a number from 0 to 100"),
    ],
)
def test_a_number_outside_its_bounds_is_a_usage_error(kind, bounds, text, expected):
    """The message names the bounds, and a number within them is returned."""
    try:
        result = number(kind, *bounds)(text)
    except argparse.ArgumentTypeError as error:
        result = str(error)
    assert result == expected
