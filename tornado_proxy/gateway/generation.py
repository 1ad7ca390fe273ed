"""A generation: everything that was made of one configuration and its rules, and what a plan needs of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from tornado_proxy.auth.authenticator import Authenticator
from tornado_proxy.auth.fetching import Fetcher, HttpFetcher
from tornado_proxy.config.model import Settings
from tornado_proxy.gateway.custom_pages import PageRenderer
from tornado_proxy.gateway.filters import Compressions, Compressor, PolicyHeaders
from tornado_proxy.gateway.upload import IncomingFile
from tornado_proxy.pages.custom import CustomRendering, PageData
from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.access import Guard, Nobody, lets_pass
from tornado_proxy.routing.decide import plan_beside
from tornado_proxy.routing.mounts import Mounts, RouteMatch
from tornado_proxy.routing.plan import Plan
from tornado_proxy.routing.request import Request, RequestPath
from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.semantics.forwarded import TrustedProxies
from tornado_proxy.storage.shares import Shares
from tornado_proxy.storage.store import Store
from tornado_proxy.templates.template import User

GENERATION = "X-Tornado-Proxy-Generation"
_SHOWN_DIGITS = 12  # of a digest; enough to tell the configurations of a fleet apart


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

    def __post_init__(self) -> None:
        server = self.settings.server
        trusted = TrustedProxies(server.trusted_proxies) if server.trusted_proxies else None
        object.__setattr__(self, "trusted_proxies", trusted)
        object.__setattr__(self, "policy_headers", PolicyHeaders(server) if server.cors or server.cache else None)
        compressor = Compressor(server.compress, self.compressions) if server.compress.enabled else None
        object.__setattr__(self, "compressor", compressor)


class Generation:
    """The parts in force under one number, and a count of the requests that hold them."""

    def __init__(self, number: int, parts: Parts) -> None:
        self.number = number
        self.parts = parts
        named = parts.settings.server.generation_header and parts.digest
        self.headers = ((GENERATION, f"{number}-{parts.digest[:_SHOWN_DIGITS]}"),) if named else ()
        self._requests = 0
        self._idle = asyncio.Event()
        self._idle.set()
        # One store may serve several targets; it is held once.
        self._held = {id(shared): shared for shared in parts.stores.values()}.values()
        for shared in self._held:
            shared.hold()

    def __repr__(self) -> str:
        return f"<Generation {self.number}, {self._requests} requests>"

    def __enter__(self) -> Self:
        """Keeps the generation alive for a request, from its start to its end."""
        self._requests += 1
        self._idle.clear()
        return self

    def __exit__(self, *_error: object) -> None:
        self._requests -= 1
        if self._requests == 0:
            self._idle.set()

    async def retire(self) -> None:
        """Waits for the last request to leave, then lets go of what the generation held.

        Call it once, when no new request can find the generation any more.
        """
        await self._idle.wait()
        # A stack: a store that cannot be closed must not keep others open.
        async with AsyncExitStack() as stack:
            for shared in self._held:
                stack.push_async_callback(shared.let_go)


class RequestContext(NamedTuple):
    """The values that a plan is performed with: the request, its target's store and pages, the file of an upload."""

    request: Request
    match: RouteMatch
    store: Store
    pages: Pages
    headers: Mapping[str, str]  # of the request, names in any case
    conditions: Conditions  # of the request
    walks: Shares  # through directories
    upload: IncomingFile | None = None
    user: User | None = None
    renderer: PageRenderer = PageRenderer()
    guard: Guard = Nobody()  # that the user has passed

    @property
    def path_below_mount(self) -> str:
        """The request path below the mount, without a leading slash, as s3-proxy shows it to templates and webhooks."""
        return self.request.path[len(self.match.mount) :]

    def may(self, method: str, path: str, *, assume_policy: bool = False) -> bool:
        """Whether the user may request another path of the target; False if only a question could answer that.

        `assume_policy` takes the permission of a policy server for granted.
        """
        site = self.match.site
        if method not in site.methods:
            return False
        guard = site.access.guard(RequestPath(path), method)
        return lets_pass(guard, self.guard, self.user, assume_policy=assume_policy)

    def plan_beside(self, path: RequestPath) -> Plan:
        """Plans the GET of another path of the same mount, whether or not the user may see it."""
        return plan_beside(self.match, self.request, path, self.user)

    async def written(self, kind: str, data: Callable[[], PageData]) -> CustomRendering | None:
        """Returns the rendering of a custom page, or None without one; raises `PageFailed`."""
        return await self.renderer.render(kind, self.match.site.target.name, self.store, data)
