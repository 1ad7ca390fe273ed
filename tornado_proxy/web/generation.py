"""A generation, which is everything that was made of one configuration and its rules, and what a plan gets of it."""

from __future__ import annotations

import asyncio
import logging
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import islice
from typing import Self

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tornado_proxy.auth.authenticator import Authenticator
from tornado_proxy.config.model import Settings
from tornado_proxy.config.secrets import Secret
from tornado_proxy.pages.custom import CustomRendering, PageData, PageRenderer
from tornado_proxy.pages.listing import link
from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.decide import Decision, listed, opens_all_below
from tornado_proxy.routing.mounts import Mounts, RouteMatch
from tornado_proxy.routing.plan import RedirectToSignedUrl, Serve
from tornado_proxy.rules.model import path_objection
from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.semantics.request import Request, RequestPath, TrustedProxies, User
from tornado_proxy.storage.store import Entry, Store
from tornado_proxy.telemetry.events import Event, Retired
from tornado_proxy.web.filters import Compressor, PolicyHeaders
from tornado_proxy.web.incoming_file import IncomingFile
from tornado_proxy.web.limits import DECISIONS_A_TURN, DIGITS_OF_DIGEST, TOKEN_BLOCK
from tornado_proxy.wire.dialing import Fetcher, HttpFetcher
from tornado_proxy.wire.shares import Shares

_LOG = logging.getLogger("tornado_proxy")

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


class PageTokens:
    """Seals places in listings, which only the service can name: one of the client's choice would tell closed names.

    The key is made of the configuration's secrets, which all instances have, also after a restart. Equal places have
    equal tokens (RFC 5297). Secrets that instances may have of their own do not count: certificates, and temporary
    credentials. Without any other, the key depends on the `digest` of the configuration.
    """

    def __init__(self, settings: Settings, digest: str = "") -> None:
        parts = settings.targets, settings.basic_providers, settings.oidc_providers
        material = "\0".join(sorted(set(_secrets(parts)))) or digest
        self._cipher = AESSIV(HKDF(SHA256(), 64, None, b"tornado-proxy listing").derive(material.encode()))

    def seal(self, place: str, *scope: str) -> str:
        """Returns the token of a place in a scope, such as a directory; its characters need no escape in a query."""
        text = place.encode()
        padded = text + bytes(-len(text) % TOKEN_BLOCK)
        return urlsafe_b64encode(self._cipher.encrypt(padded, _data(scope))).rstrip(b"=").decode()

    def unseal(self, token: str, *scope: str) -> str | None:
        """Returns the place of a token that was given out in a scope; None for any other text."""
        try:
            sealed = urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
            return self._cipher.decrypt(sealed, _data(scope)).rstrip(b"\0").decode()
        except (InvalidTag, ValueError):
            return None


def _data(scope: tuple[str, ...]) -> list[bytes]:
    return [each.encode("utf-8", "surrogatepass") for each in scope]


def _secrets(value: object) -> Iterator[str]:
    """Yields the secrets of a part of the configuration."""
    if isinstance(value, Secret):
        yield value.reveal()
    elif isinstance(value, msgspec.Struct) and getattr(value, "session_token", None) is None:
        for name in value.__struct_fields__:
            yield from _secrets(getattr(value, name))
    elif isinstance(value, tuple | frozenset):
        for each in value:
            yield from _secrets(each)


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
    trusted_proxies: TrustedProxies | None = field(init=False)  # None if none is trusted
    policy_headers: PolicyHeaders | None = field(init=False)  # None if the configuration asks for none
    compressor: Compressor | None = field(init=False)  # None if nothing is compressed
    page_tokens: PageTokens = field(init=False)

    def __post_init__(self) -> None:
        server = self.settings.server
        trusted = TrustedProxies(server.trusted_proxies) if server.trusted_proxies else None
        object.__setattr__(self, "trusted_proxies", trusted)
        object.__setattr__(self, "policy_headers", PolicyHeaders(server) if server.cors or server.cache else None)
        object.__setattr__(self, "compressor", Compressor(server.compress) if server.compress.enabled else None)
        object.__setattr__(self, "page_tokens", PageTokens(self.settings, self.digest))

    def sign_out(self, decision: Decision) -> str:
        """Returns the link to the page that ends the user's session; empty if the provider has none."""
        provider = decision.passed.provider if decision.passed else ""
        pages = self.mounts.provider_pages.items()
        return next((link(decision.request.public(path)) for path, page in pages if page == (provider, "logout")), "")

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


class RequestContext(msgspec.Struct, frozen=True):
    """The values that a plan is performed with."""

    decision: Decision
    match: RouteMatch  # the target of the request
    parts: Parts
    headers: Mapping[str, str]  # of the request, names in any case
    conditions: Conditions  # of the request
    walks: Shares  # through directories
    archives: Shares  # that are listed or sent
    readmes: Shares  # that are rendered
    ask: Callable[[RequestPath], Awaitable[Decision]]  # what a request for another path would be answered
    upload: IncomingFile | None = None

    @property
    def store(self) -> Store:
        """The store of the target."""
        return self.parts.stores[self.match.site.target.name].store

    @property
    def pages(self) -> Pages:
        """The pages of the target, in its theme."""
        return self.parts.pages_of(self.match.site.target.name)

    @property
    def request(self) -> Request:
        """The request."""
        return self.decision.request

    @property
    def user(self) -> User | None:
        """The user who had to sign in."""
        return self.decision.user

    @property
    def path_below_mount(self) -> str:
        """The request path below the mount, without a leading slash, as s3-proxy shows it to templates and webhooks."""
        return self.request.path[len(self.match.mount) :]

    def beside(self, path: str, method: str = "", *, permitted: bool = False) -> Decision:
        """Decides what a request for another path would be answered, with `permitted` for the answer of a policy."""
        return listed(self.parts.mounts, self.decision, RequestPath(path), method, permitted=permitted)

    def file(self, decision: Decision) -> Serve | RedirectToSignedUrl | None:
        """Returns the plan's first attempt, if it serves a file of this target."""
        first = decision.plan[0]
        return first if self.decision.admits(decision) and isinstance(first, Serve | RedirectToSignedUrl) else None

    @property
    def shows_all(self) -> bool:
        """Whether the user may see every entry below the path of the request."""
        return not self.match.site.hides and opens_all_below(self.parts.mounts, self.decision)

    async def opened(self, path: str, entries: Iterable[Entry], most: int, method: str = "") -> list[Entry]:
        """Returns the first entries of a directory for which the user may make such a request, or one of a method.

        A policy was asked about the directory only.
        """
        if opens_all_below(self.parts.mounts, self.decision):
            return list(islice(entries, most))
        opened: list[Entry] = []
        for number, each in enumerate(entries):
            if len(opened) == most:
                break
            if number % DECISIONS_A_TURN == 0:
                await asyncio.sleep(0)
            # A path that no request can name is not decided about; a listing shows it without a link.
            is_open = bool(path_objection(path + each.name))
            if not is_open:
                decision = self.beside(path + each.name, method, permitted=True)
                # Of a mount below, only the directory itself is shown: what this target has there, nobody can request.
                is_decided = method or each.is_directory
                is_open = not decision.is_refused if is_decided else self.file(decision) is not None
            if is_open:
                opened.append(each)
        return opened

    async def written(self, kind: str, data: Callable[[], PageData]) -> CustomRendering | None:
        """Returns the rendering of a custom page, or None without one; raises `PageFailed`."""
        return await self.parts.renderer.render(kind, self.match.site.target.name, self.store, data)


class Generations:
    """The generation in force, and earlier ones, which are closed when their last requests have left."""

    def __init__(self, first: Generation, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self.in_force = first
        self._retiring: set[asyncio.Task[None]] = set()

    @property
    def retiring(self) -> int:
        """The number of earlier generations that still have requests."""
        return len(self._retiring)

    def swap(self, generation: Generation) -> None:
        """Puts a new generation in force; running requests keep the generation that they have."""
        self._retire(self.in_force)
        self.in_force = generation
        generation.since = time.time()

    async def close(self) -> None:
        """Retires all generations and waits for them; call it when no new request can come."""
        self._retire(self.in_force)
        await asyncio.gather(*self._retiring)

    def _retire(self, generation: Generation) -> None:
        task = asyncio.get_running_loop().create_task(self._wait(generation))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    async def _wait(self, generation: Generation) -> None:
        try:
            await generation.retire()
        except Exception:  # noqa: BLE001 - a store that cannot be closed must not keep later generations from retiring
            _LOG.exception("generation %d could not be closed completely", generation.number)
        self._emit(Retired(generation.number))
