"""Tests of the random functions of pages: the form of what they make, not its values."""

import re
from base64 import b64decode

import pytest

from gotemplate.sprig import REFUSED
from gotemplate.sprig.randomness import FUNCTIONS
from gotemplate.template.budget import RenderLimits
from gotemplate.template.errors import LimitError, RenderError, TemplateMistake
from tornado_proxy.templates.go import compile_template
from tornado_proxy.templates.go.pages import PAGE_LIMITS, compile_page


def _rendered(text, limits=PAGE_LIMITS):
    return compile_page(text).render({}, limits)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("{{ uuidv4 }}", r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"),
        ("{{ randAlpha 40 }}", r"[A-Za-z]{40}"),
        ("{{ randAlphaNum 40 }}", r"[A-Za-z0-9]{40}"),
        ("{{ randAscii 40 }}", r"[ -~]{40}"),
        ("{{ randNumeric 40 }}", r"[0-9]{40}"),
        ("{{ randAlpha 0 }}{{ randAlpha -1 }}", ""),
        ("{{ randInt 5 7 }}{{ randInt -1 0 }}", r"[56]-1"),
    ],
)
def test_a_random_text_has_its_form(text, form):
    """Length and alphabet are those of sprig."""
    assert re.fullmatch(form, _rendered(text))


def test_each_rendering_draws_again():
    """A compiled page keeps no random text."""
    page = compile_page("{{ uuidv4 }}")
    assert page.render({}) != page.render({})


def test_random_bytes_are_in_base64():
    """The number is that of the bytes, not of the text."""
    assert len(b64decode(_rendered("{{ randBytes 17 }}"))) == 17


def test_a_shuffled_text_has_the_same_characters():
    """Characters are moved, not bytes."""
    assert sorted(_rendered('{{ shuffle "aéñz" }}')) == sorted("aéñz")


@pytest.mark.parametrize("text", ["{{ randInt 3 3 }}", "{{ randInt 3 1 }}", "{{ randBytes -1 }}"])
def test_what_panics_in_go_fails(text):
    """An empty range and a negative number of bytes have no result."""
    with pytest.raises(RenderError):
        _rendered(text)


@pytest.mark.parametrize("text", ["{{ randAlpha 5000 }}", "{{ randBytes 5000 }}", '{{ shuffle (repeat 900 "a") }}'])
def test_random_texts_are_limited(text):
    """Drawing costs a step for each character, and the text counts like any other."""
    with pytest.raises(LimitError):
        _rendered(text, RenderLimits(steps=800, text=4000))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_rules_have_no_random_function(name):
    """A key must be found again."""
    assert name in REFUSED
    with pytest.raises(TemplateMistake, match="its result is random"):
        compile_template(f"{{{{ {name} }}}}", {}, 0)
