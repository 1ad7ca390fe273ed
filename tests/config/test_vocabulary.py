from __future__ import annotations

import pytest

from tornado_proxy.config.options import option_names
from tornado_proxy.config.vocabulary import REFERENCES, Meaning, Vocabulary, resembles_reference

VOCABULARY = Vocabulary(option_names())


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("region", Meaning.OPEN),
        ("s3ListMaxKeys", Meaning.OPEN),
        ("env", Meaning.OPEN),
        ("value", Meaning.SECRET),
        ("password", Meaning.SECRET),
        ("sessionToken", Meaning.SECRET),
        ("credentials", Meaning.SECTION),
        ("regoin", Meaning.LIKE_OPEN),
        ("pasword", Meaning.LIKE_SECRET),
        ("vaule", Meaning.LIKE_SECRET),
        ("credentails", Meaning.LIKE_SECRET),
        ("clientSecret", Meaning.LIKE_SECRET),
        ("db_pwd", Meaning.LIKE_SECRET),
        ("site", Meaning.UNKNOWN),
    ],
)
def test_name_says_what_its_value_may_be(name, meaning):
    """An option's own name is known; any other is judged by what it resembles and how it sounds."""
    assert VOCABULARY.meaning(name) is meaning


@pytest.mark.parametrize(("name", "resembles"), [("env", True), ("evn", True), ("vaule", True), ("hunter2", False)])
def test_key_of_a_reference_may_be_a_secret(name, resembles):
    """A key within a reference is shown only if it resembles an option of references."""
    assert resembles_reference(name) is resembles


def test_every_option_that_leads_to_a_secret_is_known():
    """No section of the configuration can take a secret under a name that is thought to be open."""
    from_sections = {name for name in option_names() if VOCABULARY.meaning(name) is not Meaning.OPEN}
    assert from_sections == {"value", "password", "accessKey", "secretKey", "sessionToken", "credentials"}


def test_names_of_secrets_are_options():
    """What may be shown within a reference is an option of references."""
    assert option_names() >= REFERENCES.keys()
