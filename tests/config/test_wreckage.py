from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.config.options import option_names
from tornado_proxy.config.vocabulary import Vocabulary
from tornado_proxy.config.wreckage import suspicious_ranges

VOCABULARY = Vocabulary(option_names())


def _hidden(text):
    hidden = set()
    for start, end in suspicious_ranges(text, VOCABULARY):
        hidden.update(range(start, end))
    return "".join(
        "•" if index in hidden and not character.isspace() else character for index, character in enumerate(text)
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("region: eu-west-1", "region: eu-west-1"),
        ("value: word", "value: ••••"),
        ("value:word", "value:••••"),
        ("value = word", "value = ••••"),
        ('"password" : "word"', '"password" : ••••••'),
        ("pasword: word", "pasword: ••••"),
        ("something: word", "something: ••••"),
        ("regoin: eu", "regoin: ••"),
        ('"pass\\x77ord": word', '"pass\\x77ord": ••••'),
        ("name: a, password: word", "name: a, password: ••••"),
        ("name: a\nvalue: word\nregion: eu", "name: a\nvalue: ••••\nregion: eu"),
        ("value:\n  word\nregion: eu", "value:\n  ••••\nregion: eu"),
        ("value: |\n  a: b\n\n  c: d\nregion: eu", "value: •\n  •• •\n\n  •• •\nregion: eu"),
        ("- value: a\n  region: eu", "- value: •\n  region: eu"),
        ("credentials:\n- user: ann\n- x\nregion: eu", "credentials:\n• ••••• •••\n• •\nregion: eu"),
        ("value: a\nword\nregion: eu", "value: •\n••••\nregion: eu"),
        ("? value\n: word", "? value\n: ••••"),
        ("region: &r eu", "region: •• ••"),
    ],
)
def test_what_follows_a_suspicious_name_is_hidden(text, shown):
    """The rest of the line goes, and the lines below that are indented deeper or name nothing."""
    assert _hidden(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "value: 'a\nb: c",
        'value: "a\nb: c',
        "value: {a\nb: c",
        "value: [a\nb: c",
        "x: {\nvalue: a\nb: c",
    ],
)
def test_all_the_rest_is_hidden_where_nothing_pairs(text):
    """Where a quote or a bracket stays open, nobody knows where the value ends."""
    assert _hidden(text).endswith("•• •")


def test_brackets_in_comments_do_not_count():
    """A comment opens nothing."""
    assert _hidden("# don't {\nvalue: a\nregion: eu") == "# don't {\nvalue: •\nregion: eu"


@pytest.mark.parametrize(
    "text",
    ["site:\n  region: eu", "site: # mine\n\n  # comment\n  region: eu", "site:\n  - region: eu"],
)
def test_name_above_other_names_is_a_section(text):
    """What a target is called tells nothing about what stands below it."""
    assert _hidden(text) == text


@pytest.mark.parametrize("text", ["pw:\n  word", "pw: # mine\n  word"])
def test_unknown_name_above_a_value_is_suspicious(text):
    """An unknown name whose value stands on the next line may be a misspelt secret."""
    assert _hidden(text).endswith("••••")


def test_unknown_name_at_the_end_hides_nothing():
    """A text may end with a name."""
    assert _hidden("region: eu\nsite:\n") == "region: eu\nsite:\n"


@given(st.text(alphabet="ab:-?[]{}#&*!|\"'\\ \n\t", max_size=60))
def test_ranges_stay_within_the_text(text):
    """Whatever the text, the ranges are in order and none begins beyond its end."""
    for start, end in suspicious_ranges(text, VOCABULARY):
        assert 0 <= start <= end
        assert start <= len(text)
