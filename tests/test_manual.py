"""The man pages hold what the manual holds, whatever characters it has."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from tornado_proxy.cli.main import COMMANDS, load_command
from tornado_proxy.config.model import Settings
from tornado_proxy.config.options import all_options as all_settings

ROOT = Path(__file__).parent.parent
_SPEC = importlib.util.spec_from_file_location("manual", ROOT / "packaging" / "manual.py")
manual = sys.modules["manual"] = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(manual)


def _page(name: str) -> str:
    (page,) = (each for each in manual.PAGES if each.file_name == name)
    return manual.render(page, "1.2.3", "2026-05-01")


def _shown(text: str, folder: Path) -> str:
    """The body of a page whose source is a text."""
    (folder / "page.md").write_text(text)
    page = manual.ManPage("name", 7, str(folder / "page.md"), "about")
    return manual.render(page, "1").split(".SH DESCRIPTION\n")[1].split(".SH SEE ALSO")[0]


def test_every_command_and_its_options_are_in_the_page():
    """`man tornado-proxy` has a section for each command, and each option in it."""
    sections = dict(re.findall(r"^\.SH (.*)\n((?:(?!\.SH).*\n)*)", _page("tornado-proxy.1"), re.MULTILINE))
    for name in COMMANDS:
        options = {word for each in load_command(name)[1]._actions for word in each.option_strings}
        shown = sections[f"\\fB{name}\\fR"].replace("\\-", "-")
        assert all(word in shown for word in options - {"-h", "--help"}), name


def test_every_option_of_the_configuration_is_in_the_page():
    """`man tornado-proxy.yaml` has a paragraph for each option."""
    tagged = set(re.findall(r"^\.TP\n\\fB(\w+)\\fR$", _page("tornado-proxy.yaml.5"), re.MULTILINE))
    assert {each.option.name for each in all_settings(Settings)} <= tagged


def test_a_page_says_which_version_it_is_of():
    """The title has the section, the date and the version."""
    assert _page("tornado-proxy.1").startswith('.TH TORNADO-PROXY 1 "2026-05-01" "tornado-proxy 1.2.3"\n')


@pytest.mark.parametrize(
    ("text", "roff"),
    [
        ("`a\\d`", "\\fBa\\ed\\fR\n"),
        ("`.ps` is a file", "\\fB.ps\\fR is a file\n"),
        ("line\n.ps", "line\n\\&.ps\n"),
        ("```\n'x\n.y\n```", ".PP\n.RS 4\n.nf\n\\&'x\n\\&.y\n.fi\n.RE\n"),
        ("`^a~`", "\\fB\\(haa\\(ti\\fR\n"),
        ("[page](other.md) [web](https://a.example/)", "page web <https://a.example/>\n"),
        ("## A\n\n- one\n- two", ".SH A\n.IP \\(bu 2\none\n.IP \\(bu 2\ntwo\n"),
        ("| a | b |\n|---|---|\n| `x` | y |", ".TP\n\\fBx\\fR\ny\n"),
        ("| a | b | c |\n|---|---|---|\n| `x` |  | z |", ".TP\n\\fBx\\fR\n\\fIc\\fR: z\n"),
    ],
)
def test_text_is_shown_as_it_is(text, roff, tmp_path):
    """No character of the docs is taken for a request or an escape."""
    assert _shown(text, tmp_path).removeprefix(".PP\n") == roff.removeprefix(".PP\n")
