"""A trusted proxy in front, whose headers name the user, and a policy server."""

import json

from tornado_proxy.auth.authenticator import HeaderAuthenticator
from tornado_proxy.config.providers import HeaderProvider
from tornado_proxy.config.server import Server
from tornado_proxy.wire.dialing import Fetch, Fetched

FRONT = {
    "authenticators": {"front": HeaderAuthenticator(HeaderProvider("front", "X-User", "X-Email"))},
    "server": Server(trusted_proxies=("127.0.0.0/8",)),
}
"""The parts of a generation that believe the proxy."""
ANN, BOB = ({"X-User": name, "X-Email": f"{name}@example.org"} for name in ("ann", "bob"))


class Policy:
    """A policy server that refuses some paths; `asked` are the methods and paths that it decided about."""

    def __init__(self, *refused: str) -> None:
        self.refused = refused
        self.asked: list[tuple[str, str]] = []

    async def __call__(self, wanted: Fetch) -> Fetched:
        """Answers what a fetcher asks."""
        request = json.loads(wanted.body)["input"]["request"]
        path = request["path"].partition("?")[0]
        assert request["parsed_path"] == [each for each in path.split("/") if each]
        self.asked.append((request["method"], path))
        return Fetched(200, json.dumps({"result": path not in self.refused}).encode())
