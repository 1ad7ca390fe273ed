"""The tokens of pages: which configurations have one key, and what a token shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.config.model import Bucket, Mount, Settings, Target
from tornado_proxy.config.providers import OidcProvider
from tornado_proxy.config.secrets import Credentials, Secret
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.web.generation import PageTokens


def _secret(value):
    return Secret("a file", value)


def _settings(secret_key="", session_token="", session_key=""):
    credentials = Credentials(
        access_key=_secret("id"),
        secret_key=_secret(secret_key),
        session_token=_secret(session_token) if session_token else None,
    )
    bucket = Bucket("bucket", credentials=credentials if secret_key else None)
    oidc = OidcProvider("id", GuardedUrl("https://issuer.test"), "me", session_key=_secret(session_key))
    return Settings(targets=(Target("site", Mount(), bucket),), oidc_providers=(oidc,) if session_key else ())


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=80), st.text(max_size=9))
def test_a_token_has_its_place_in_its_scope_only(place, scope):
    """A token leads back to its place, and in another scope to none; it needs no escape in a query."""
    tokens = PageTokens(_settings("key"))
    token = tokens.seal(place, scope, "")
    assert tokens.unseal(token, scope, "") == place
    assert tokens.unseal(token, "", scope + "x") is None
    assert token.isascii()
    assert token.replace("-", "").replace("_", "").isalnum()


@pytest.mark.parametrize(
    ("own", "other", "is_known"),
    [
        (_settings("key"), _settings("key"), True),
        (_settings("key"), _settings("another"), False),
        (_settings("key", session_key="x"), _settings("key", session_key="y"), False),
        (_settings("key", "temporary", "x"), _settings("another", "later", "x"), True),
    ],
)
def test_instances_of_one_configuration_have_one_key(own, other, is_known):
    """The key is made of secrets that all instances have, so not of temporary credentials."""
    token = PageTokens(own).seal("a", "d/")
    assert (PageTokens(other).unseal(token, "d/") == "a") is is_known


def test_without_a_secret_the_files_make_the_key():
    """A configuration that names no secret has the key of its digest."""
    token = PageTokens(_settings(), "one").seal("a")
    assert [PageTokens(_settings(), digest).unseal(token) for digest in ("one", "two")] == ["a", None]


def test_names_of_about_one_length_have_tokens_of_one_length():
    """The place may be a closed name, whose length a token does not show."""
    tokens = PageTokens(_settings("key"))
    assert {len(tokens.seal("x" * length)) for length in range(1, 49)} == {86}
