"""The demo: the gallery's configuration and rules, served from an S3 in the process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tornado_proxy.config.model import Listener, Target
from tornado_proxy.service.listening import CannotListen, Sockets, open_sockets
from tornado_proxy.service.sources import Sources, read_sources

PASSWORD = "demo"  # noqa: S105 - the demo's, printed on the screen

_PACKAGE = Path(__file__).parent.parent
_GALLERIES = (_PACKAGE / "gallery", _PACKAGE.parent / "rules")
_SECRETS = {"DEMO_ACCESS_KEY": "demo", "DEMO_SECRET_KEY": "demo", "DEMO_PASSWORD": PASSWORD}


def gallery() -> Path:
    """Where the gallery of rules is: in the package when it was installed from a wheel, beside it in a checkout."""
    return next(place for place in _GALLERIES if (place / "demo.yaml").is_file())


def read_demo(endpoint: str) -> Sources:
    """The gallery's configuration and rules, for the S3 at an endpoint."""
    sources = read_sources(gallery() / "demo.yaml", _SECRETS)
    said = sources.configuration
    if said.settings is None:
        return sources
    targets = tuple(_at(target, endpoint) for target in said.settings.targets)
    return replace(sources, configuration=replace(said, settings=replace(said.settings, targets=targets)))


def open_demo_sockets(listener: Listener) -> Sockets:
    """Listen where the demo should, or on any free port of loopback where that one is taken."""
    try:
        return open_sockets(listener)
    except CannotListen:
        return open_sockets(replace(listener, port=0))


def _at(target: Target, endpoint: str) -> Target:
    return replace(target, bucket=replace(target.bucket, s3_endpoint=endpoint))
