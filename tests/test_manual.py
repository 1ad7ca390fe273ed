"""The man pages hold the manual, with all its characters."""

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
    (page,) = (page for page in manual.PAGES if page.file_name == name)
    return manual.render(page, "1.2.3", "2026-05-01")


def _body(text: str, folder: Path) -> str:
    """The body of the man page that is made from a text."""
    (folder / "page.md").write_text(text)
    page = manual.ManPage("name", 7, str(folder / "page.md"), "about")
    return manual.render(page, "1").split(".SH DESCRIPTION\n")[1].split(".SH SEE ALSO")[0]


def test_the_page_has_every_command_and_its_options():
    """`man tornado-proxy` has a section for each command with all its options."""
    sections = dict(re.findall(r"^\.SH (.*)\n((?:(?!\.SH).*\n)*)", _page("tornado-proxy.1"), re.MULTILINE))
    for name in COMMANDS:
        options = {option for action in load_command(name)[1]._actions for option in action.option_strings}
        section = sections[f"\\fB{name}\\fR"].replace("\\-", "-")
        assert all(option in section for option in options - {"-h", "--help"}), name


def test_the_page_has_every_option_of_the_configuration():
    """`man tornado-proxy.yaml` has a paragraph for each option."""
    tagged = set(re.findall(r"^\.TP\n\\fB(?:[\w*]+\.)*(\w+)\\fR$", _page("tornado-proxy.yaml.5"), re.MULTILINE))
    assert {each.option.name for each in all_settings(Settings)} <= tagged


def test_a_page_names_its_version():
    """The title of a page has the section, the date and the version."""
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
def test_text_is_shown_unchanged(text, roff, tmp_path):
    """Characters that are special in roff are escaped, and Markdown becomes macros of roff."""
    assert _body(text, tmp_path).removeprefix(".PP\n") == roff.removeprefix(".PP\n")
