"""A generation: everything that was made of one configuration and its rules."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Self

from tornado_proxy.auth.authenticator import Authenticator
from tornado_proxy.auth.fetching import Fetcher, HttpFetcher
from tornado_proxy.config.model import Settings
from tornado_proxy.pages.listing import link
from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.decide import Decision
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.semantics.forwarded import TrustedProxies
from tornado_proxy.storage.store import Store
from tornado_proxy.web.custom_pages import PageRenderer
from tornado_proxy.web.filters import Compressions, Compressor, PolicyHeaders
from tornado_proxy.web.limits import DIGITS_OF_DIGEST
from tornado_proxy.web.page_tokens import PageTokens

GENERATION = "X-Tornado-Proxy-Generation"


class Shared:
    """A store that several generations use; the last one to let go of it closes it.

    A store that never becomes part of a generation is closed by its maker.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._holders = 0

    def __repr__(self) -> str:
        return f"<Shared {self.store!r}, {self._holders} holders>"

    def hold(self) -> None:
        """Counts one more holder."""
        self._holders += 1

    async def let_go(self) -> None:
        """Counts one less, and closes the store if that was the last."""
        self._holders -= 1
        if self._holders == 0:
            await self.store.close()


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a generation; stores by target name, authenticators by provider name.

    A store or an authenticator that did not change is taken over from the generation before.
    """

    settings: Settings
    mounts: Mounts
    pages: Pages
    stores: Mapping[str, Shared] = field(default_factory=dict)
    authenticators: Mapping[str, Authenticator] = field(default_factory=dict)
    fetch: Fetcher = field(default_factory=HttpFetcher)
    renderer: PageRenderer = field(default_factory=PageRenderer)
    digest: str = ""  # of the files, without secrets
    compressions: Compressions = field(default_factory=Compressions)  # of all generations
    trusted_proxies: TrustedProxies | None = field(init=False)  # None if none is trusted
    policy_headers: PolicyHeaders | None = field(init=False)  # None if the configuration asks for none
    compressor: Compressor | None = field(init=False)  # None if nothing is compressed
    page_tokens: PageTokens = field(init=False)

    def __post_init__(self) -> None:
        server = self.settings.server
        trusted = TrustedProxies(server.trusted_proxies) if server.trusted_proxies else None
        object.__setattr__(self, "trusted_proxies", trusted)
        object.__setattr__(self, "policy_headers", PolicyHeaders(server) if server.cors or server.cache else None)
        compressor = Compressor(server.compress, self.compressions) if server.compress.enabled else None
        object.__setattr__(self, "compressor", compressor)
        object.__setattr__(self, "page_tokens", PageTokens(self.settings, self.digest))

    def sign_out(self, decision: Decision) -> str:
        """Returns the link to the page that ends the user's session; empty if the provider has none."""
        provider = decision.passed.provider if decision.passed else ""
        pages = self.mounts.provider_pages.items()
        return next((link(path) for path, page in pages if page == (provider, "logout")), "")

    def pages_of(self, target: str | None) -> Pages:
        """Returns the pages of a target, in its theme if it has one."""
        return self.renderer.pages.themed.get(target, self.pages)


class Generation:
    """The parts in force under one number, and a count of the requests that hold them."""

    def __init__(self, number: int, parts: Parts) -> None:
        self.number = number
        self.parts = parts
        self.since = time.time()  # Unix time, seconds
        named = parts.settings.server.generation_header and parts.digest
        self.headers = ((GENERATION, f"{number}-{parts.digest[:DIGITS_OF_DIGEST]}"),) if named else ()
        self._requests = 0
        self._left: asyncio.Event | None = None  # set when the last request has left, once that is waited for
        # One store may serve several targets; it is held once.
        self._held = {id(shared): shared for shared in parts.stores.values()}.values()
        for shared in self._held:
            shared.hold()

    def __repr__(self) -> str:
        return f"<Generation {self.number}, {self._requests} requests>"

    def __enter__(self) -> Self:
        """Keeps the generation alive for a request, from its start to its end."""
        self._requests += 1
        return self

    def __exit__(self, *_error: object) -> None:
        self._requests -= 1
        if self._left is not None and self._requests == 0:
            self._left.set()

    async def retire(self) -> None:
        """Waits for the last request to leave, then lets go of what the generation held.

        Call it once, when no new request can find the generation any more.
        """
        if self._requests:
            self._left = asyncio.Event()
            await self._left.wait()
        # A stack: a store that cannot be closed must not keep others open.
        async with AsyncExitStack() as stack:
            for shared in self._held:
                stack.push_async_callback(shared.let_go)
