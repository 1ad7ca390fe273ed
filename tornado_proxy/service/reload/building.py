"""Builds the parts of a generation, without network.

A generation takes over what did not change from the one in force, so that an edit of a rule keeps S3's connections.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tornado_proxy.auth.authenticator import Authenticator, CertificateAuthenticator, HeaderAuthenticator
from tornado_proxy.auth.basic import Verifier, basic_authenticators
from tornado_proxy.auth.fetching import HttpFetcher
from tornado_proxy.auth.oidc import OidcAuthenticator
from tornado_proxy.config.model import Settings
from tornado_proxy.pages.custom import CustomPages
from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.mounts import Mounts, sites
from tornado_proxy.service.reload.snapshot import Configuration
from tornado_proxy.service.reload.stores import StoreMaker, missing_extra
from tornado_proxy.telemetry.events import Event
from tornado_proxy.web.custom_pages import PageRenderer
from tornado_proxy.web.filters import Compressions
from tornado_proxy.web.generation import Parts


class GenerationBuilder:
    """Builds the parts of generations; pools and caches are shared, and sized by the first settings."""

    def __init__(self, settings: Settings, emit: Callable[[Event], None]) -> None:
        self.pages = Pages()
        self._verifier = Verifier()
        self._stores = StoreMaker(settings.s3, emit)
        self._fetch = HttpFetcher()

    def build(self, configuration: Configuration, in_force: Parts | None = None) -> Parts:
        """Builds the parts of a generation; raises `Unbuildable`."""
        settings = configuration.settings
        if any(target.listing.readme for target in settings.targets):
            try:
                import tornado_proxy.pages.readme  # noqa: F401, PLC0415 - an extra
            except ImportError:
                raise missing_extra("`listing.readme` needs the extra `readme`", "readme") from None
        stores = self._stores.make(settings, in_force)
        kept = in_force.mounts.sites if in_force else ()
        mounts = Mounts(
            sites(settings.targets, configuration.rule_sets, kept), settings.oidc_providers, settings.list_targets
        )
        if in_force and in_force.settings == settings:
            authenticators = in_force.authenticators
        else:
            authenticators = self._authenticators(settings, in_force)
        pages = configuration.pages.pages if configuration.pages else CustomPages()
        renderer = in_force.renderer if in_force and in_force.renderer.pages is pages else PageRenderer(pages)
        own = pages.themed.get(None, self.pages)
        compressions = in_force.compressions if in_force else Compressions()
        digest = configuration.snapshot.digest
        return Parts(settings, mounts, own, stores, authenticators, self._fetch, renderer, digest, compressions)

    def _authenticators(self, settings: Settings, in_force: Parts | None) -> dict[str, Authenticator]:
        authenticators: dict[str, Authenticator] = {**basic_authenticators(settings, self._verifier)}
        for header in settings.header_providers:
            authenticators[header.name] = HeaderAuthenticator(header)
        for certificate in settings.certificate_providers:
            authenticators[certificate.name] = CertificateAuthenticator(certificate, time.time)
        if settings.oidc_providers:
            for oidc in settings.oidc_providers:
                kept = in_force.authenticators.get(oidc.name) if in_force else None
                # An unchanged one keeps the keys of its issuer.
                if not isinstance(kept, OidcAuthenticator) or kept.settings != oidc:
                    kept = OidcAuthenticator(oidc, self._fetch, time.time)
                authenticators[oidc.name] = kept
        return authenticators

    async def close(self) -> None:
        """Ends the threads."""
        await self._verifier.close()
