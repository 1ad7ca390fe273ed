"""A generation in force that nothing serves."""

from __future__ import annotations

from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.mounts import Mounts, sites
from tornado_proxy.service.reload.snapshot import Configuration
from tornado_proxy.web.generation import Generation, Parts

_PAGES = Pages()


def generation_of(configuration: Configuration, number: int = 1) -> Generation:
    """Makes a generation of a configuration, without stores."""
    settings = configuration.settings
    mounts = Mounts(sites(settings.targets, configuration.rule_sets), settings.oidc_providers, settings.list_targets)
    return Generation(number, Parts(settings, mounts, _PAGES, digest=configuration.snapshot.digest))
