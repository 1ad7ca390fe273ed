import pytest
from linting import findings, fixed, places

NAME = "percent-encoding"


def test_percent_signs_that_encode_nothing():
    """A percent sign is a character like another."""
    assert places(NAME, 'rewrite `^/100%$` -> "/a%zz"\ntest "/5%" -> unchanged') == []


def test_all_places_where_keys_are_written():
    """Sources, plain templates, keys of tests and expected keys are looked at; other templates may print anything."""
    text = (
        'rewrite `^/a%20b$` -> "/c%20d"\nrewrite `^/x$` -> jinja "/%20"\ntest "/e%20f" -> "/g%20h"\ntest "/x" -> error'
    )
    assert places(NAME, text) == ["%20"] * 4


@pytest.mark.parametrize(
    ("written", "after", "cure"),
    [
        ("^/a%20b$", "^/a b$", "write a space"),
        ("^/%C3%A4$", "^/ä$", "write `ä`"),
        ("^/a%2Eb$", r"^/a\.b$", r"write `\.`"),
    ],
)
def test_the_fix_decodes(written, after, cure):
    """Bytes of one character are taken together, and what means something in an expression is escaped."""
    statement = f"rewrite `{written}` -> `/x`"
    assert findings(NAME, statement)[0].help == cure
    assert fixed(NAME, statement) == f"rewrite `{after}` -> `/x`"


@pytest.mark.parametrize("encoded", ["%00", "%FF", "%0A"])
def test_what_no_key_holds_is_not_decoded(encoded):
    """Control characters and broken UTF-8 have no place in a key."""
    (found,) = findings(NAME, f"rewrite `^/{encoded}$` -> `/x`")
    assert (found.help, found.fixes) == ("leave it out: no key holds such a character", ())
