"""The clothes of the pages."""

from __future__ import annotations

from hashlib import sha256

from tornado_proxy.pages.theme import Theme


def test_an_assets_name_has_a_digest_of_it():
    """Whatever changes has another address, so caches may keep what they have for ever."""
    theme = Theme()
    assert len(theme.assets) == 2
    for name, asset in theme.assets.items():
        assert name.split(".")[1] == sha256(asset.body).hexdigest()[:16]
        headers = dict(asset.headers)
        assert headers["Content-Length"] == str(len(asset.body))
        assert headers["Content-Type"] in ("text/css; charset=utf-8", "text/javascript; charset=utf-8")


def test_a_theme_refers_to_its_own_assets():
    """The sheet and the script."""
    theme = Theme()
    assert {*theme.sheets, theme.script} == set(theme.assets)
