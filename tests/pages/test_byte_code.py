"""What Jinja makes of the package's templates is kept, as Python keeps what it makes of modules."""

from __future__ import annotations

import sys
from importlib.util import cache_from_source
from pathlib import Path

import jinja2
import pytest
from jinja2 import DictLoader, Environment

from tornado_proxy.pages import byte_code
from tornado_proxy.pages.byte_code import KeptByteCode
from tornado_proxy.pages.render import Theme

TEXT = "{% if a %}\n{{ a }}{% endif %}"


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """The directory of what is kept, which is empty."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    folder = Path(cache_from_source(byte_code.__file__)).parent
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def compiled(monkeypatch):
    """The names of the templates that were compiled, in order."""
    names, usual = [], Environment.compile

    def compiling(self, source, name=None, filename=None, **options):
        names.append(name)
        return usual(self, source, name, filename, **options)

    monkeypatch.setattr(Environment, "compile", compiling)
    return names


def _rendered(text=TEXT, **options):
    environment = Environment(loader=DictLoader({"a": text}), autoescape=True, bytecode_cache=KeptByteCode(), **options)
    return environment.get_template("a").render(a="<")


def test_a_template_is_compiled_once(folder, compiled):
    """A second process makes the same page of what the first one has kept."""
    assert [_rendered(), _rendered()] == ["\n&lt;"] * 2
    assert compiled == ["a"]
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize(
    ("text", "options"), [(f"{TEXT}!", {}), (TEXT, {"trim_blocks": True})], ids=["another text", "another option"]
)
def test_what_another_template_was_made_of_is_not_taken(folder, compiled, text, options):
    """The byte code depends on the text and on the options of the environment."""
    first, second = _rendered(), _rendered(text, **options)
    assert first != second
    assert compiled == ["a", "a"]


def test_what_another_jinja_made_is_not_taken(folder, compiled, monkeypatch):
    """An upgrade of Jinja compiles all templates again."""
    _rendered()
    monkeypatch.setattr(byte_code, "version", lambda _: "0")
    _rendered()
    assert compiled == ["a", "a"]


@pytest.mark.parametrize(("writes", "exists"), [(False, True), (True, False)], ids=["told not to", "no folder"])
def test_a_page_needs_nothing_kept(folder, monkeypatch, writes, exists):
    """Where no byte code is written, that of templates is not, either."""
    monkeypatch.setattr(sys, "dont_write_bytecode", not writes)
    if not exists:
        folder.rmdir()
    assert _rendered() == "\n&lt;"
    assert not exists or not list(folder.iterdir())


@pytest.mark.parametrize("size", [0, 5, 20, 50, 200])
def test_a_damaged_file_is_made_anew(folder, compiled, size):
    """A file that was cut, as by a full disk, costs a compilation and no start."""
    _rendered()
    (kept,) = folder.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(whole[:size])
    assert _rendered() == "\n&lt;"
    assert kept.read_bytes() == whole
    assert compiled == ["a", "a"]


def test_no_bit_of_a_damaged_file_is_run(folder, compiled):
    """Changed byte code could do anything."""
    _rendered()
    (kept,) = folder.iterdir()
    whole = bytearray(kept.read_bytes())
    whole[whole.rindex(b"escape")] ^= 1
    kept.write_bytes(whole)
    assert _rendered() == "\n&lt;"
    assert compiled == ["a", "a"]


def test_every_user_may_read_what_is_kept(folder):
    """A package is installed by root, and its service runs as another user."""
    _rendered()
    (kept,) = folder.iterdir()
    module = folder / "module"
    module.touch()
    assert kept.stat().st_mode == module.stat().st_mode


def test_the_pages_are_compiled_once(folder, compiled):
    """A start finds the templates of the service's own theme, each under one name."""
    Theme()
    first = compiled.copy()
    Theme("another title")
    assert compiled == first
    assert len({*first}) == len(first) > 3


def test_the_templates_of_a_theme_are_not_kept(folder):
    """A theme belongs to a configuration, and the package keeps nothing of a configuration."""
    Theme(templates={"page.html": "a"})
    assert not list(folder.iterdir())


def test_jinja_has_the_options_that_decide(folder):
    """Each option that byte code is kept under is one of Jinja's."""
    assert all(hasattr(jinja2.Environment(autoescape=True), each) for each in byte_code._OPTIONS)
