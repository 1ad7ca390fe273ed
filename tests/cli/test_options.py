import argparse
from pathlib import Path

import pytest

from tornado_proxy.cli.main import COMMANDS
from tornado_proxy.cli.options import CommandArgument, Takes, all_options, options
from tornado_proxy.lang.diagnostic import Severity


def _only(*words, **settings):
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument(*words, **settings)
    return options(parser)[0]


@pytest.mark.parametrize(
    ("words", "settings", "takes"),
    [
        (["--flag"], {"action": "store_true"}, Takes.NOTHING),
        (["--file"], {"type": Path}, Takes.FILE),
        (["paths"], {"nargs": "*", "metavar": "PATH"}, Takes.FILE),
        (["old"], {"metavar": "OLD"}, Takes.FILE),
        (["path"], {"nargs": "?", "metavar": "PATH"}, Takes.TEXT),
        (["--name"], {}, Takes.TEXT),
        (["--format"], {"choices": ("a", "b")}, Takes.CHOICE),
    ],
)
def test_what_an_argument_takes_is_seen_from_how_it_is_declared(words, settings, takes):
    """A type, choices, or that it takes nothing."""
    assert _only(*words, **settings).takes is takes


def test_choices_are_words():
    """Those of an enumeration are its values."""
    choices = _only("--level", type=Severity, choices=tuple(Severity)).choices
    assert choices == ("error", "warning", "info")


def test_an_option_keeps_all_its_names_and_its_help():
    """A positional argument has none."""
    assert _only("-x", "--extra", help="more") == CommandArgument(("-x", "--extra"), Takes.TEXT, (), "more")
    assert _only("place").names == ()


def test_every_command_is_in_the_table():
    """With `--help` first."""
    table = all_options()
    assert list(table) == list(COMMANDS)
    assert all(found[0].names == ("-h", "--help") for found in table.values())
