"""How this service reaches others: how connections are opened, and requests to providers, policy servers and webhooks.

A name that hangs keeps no other waiting, nor does an address that is silent.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from asyncio.staggered import staggered_race
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.iostream import UnsatisfiableReadError
from tornado.netutil import Resolver
from tornado.simple_httpclient import SimpleAsyncHTTPClient

from tornado_proxy.config.values import GuardedUrl, Unshown
from tornado_proxy.wire.limits import FETCH_WITHIN, LARGEST_ANSWER, MOST_EXCHANGES, NEXT_ADDRESS_AFTER, PASSED_OVER_FOR
from tornado_proxy.wire.shares import in_own_thread

Address = tuple[int, Any]
"""A family of addresses, and one of them as a socket takes it."""


class Names(Resolver):
    """Resolves names, each on a thread of its own, which is shared by those who ask for it at once."""

    def initialize(self) -> None:
        """Begins without a name (Tornado's Configurable)."""
        self._asked: dict[tuple[str, int], asyncio.Task[list[Address]]] = {}

    async def resolve(self, host: str, port: int, family: socket.AddressFamily = socket.AF_UNSPEC) -> list[Address]:
        """Returns the addresses of a host; raises `OSError`, `UnicodeError` for what is no name."""
        try:
            return addresses(host, port, socket.AI_NUMERICHOST)
        except socket.gaierror:
            pass
        asked = self._asked.get((host, port))
        if asked is None:
            asked = asyncio.ensure_future(in_own_thread(partial(addresses, host, port)))
            self._asked[host, port] = asked
            asked.add_done_callback(lambda _: self._asked.pop((host, port)))
        return [each for each in await asyncio.shield(asked) if family in (socket.AF_UNSPEC, each[0])]


def addresses(host: str, port: int, flags: int = 0) -> list[Address]:
    """Returns the addresses of a host; blocks."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    return [(family, address) for family, _, _, _, address in found]


class Dialer:
    """Connects to a host and port (RFC 8305).

    Each address is tried as the one before has failed, or has been silent for a quarter of a second. One that was
    passed over comes last for some minutes; the others keep the resolver's order, which may spread the load by it.
    """

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self._names = Names()
        self._passed_over: dict[Address, float] = {}  # until when

    async def connect(self) -> socket.socket:
        """Returns a connected socket; raises `OSError`, `UnicodeError`."""
        return await self._first(await self._names.resolve(self.host, self.port))

    def connect_in_thread(self, timeout: float) -> socket.socket:
        """Does the same, blocking; raises `TimeoutError` after some seconds, not counting those of the resolver."""
        found = addresses(self.host, self.port)
        if len(found) > 1:
            return asyncio.run(asyncio.wait_for(self._first(found), timeout))
        # Without another to try, a loop takes longer than the connection, and its errors do not say "refused".
        [(family, address)] = found
        made = socket.socket(family, socket.SOCK_STREAM)
        try:
            _set_up(made, timeout)
            made.connect(address)
        except BaseException:
            made.close()
            raise
        return made

    async def _first(self, found: Sequence[Address]) -> socket.socket:
        now = time.monotonic()
        ordered = sorted(found, key=lambda each: self._passed_over.get(each, now) > now)
        connected: socket.socket | None = None
        made: list[socket.socket] = []
        try:
            connected, at, errors = await staggered_race(
                [partial(_connected, each, made) for each in ordered], NEXT_ADDRESS_AFTER
            )
        finally:  # a caller that is cancelled at that moment never gets the one that is made
            for each in made:
                if each is not connected:
                    each.close()
        if connected is None:
            lost = [each.with_traceback(None) for each in errors if each]  # which has frames that keep all of them
            errors.clear()
            raise lost.pop(0)
        if at:
            late = {each: until for each, until in self._passed_over.items() if until > now}
            self._passed_over = late | dict.fromkeys(ordered[:at], now + PASSED_OVER_FOR)
        return connected


def _set_up(made: socket.socket, timeout: float) -> None:
    made.settimeout(timeout)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


async def _connected(address: Address, done: list[socket.socket]) -> socket.socket:
    made = socket.socket(address[0], socket.SOCK_STREAM)
    try:
        _set_up(made, 0)
        await asyncio.get_running_loop().sock_connect(made, address[1])
    except BaseException:
        made.close()
        raise
    done.append(made)
    return made


class Fetch(Unshown, frozen=True):
    """A request; without a method it is a POST if it has a body, else a GET. `timeout` is in seconds."""

    url: GuardedUrl
    headers: Mapping[str, str] = {}
    body: str | None = None
    method: str | None = None
    timeout: float | None = None


class Fetched(Unshown, frozen=True):
    """An answer."""

    status: int
    body: bytes

    def document(self) -> dict[str, Any]:
        """Returns the JSON object of a successful answer; raises `ValueError` with the reason why there is none."""
        if self.status != 200:
            raise ValueError(f"came with status {self.status}")
        try:
            document = json.loads(self.body)
            check_unicode(document)
        except (ValueError, RecursionError):
            raise ValueError("is not JSON") from None
        if not isinstance(document, dict):
            raise ValueError("is not an object")  # noqa: TRY004 - the value is the answer's, not the caller's
        return document


def check_unicode(document: object) -> None:
    """Raises `ValueError` if JSON has half a surrogate pair: it can be escaped (RFC 8259 8.2), but not be sent on."""
    json.dumps(document, ensure_ascii=False).encode()


Fetcher = Callable[[Fetch], Awaitable[Fetched]]  # sends a request; raises `OSError` if no complete answer comes in time


class HttpFetcher:
    """Fetches by HTTP; redirects are not followed, certificates are verified.

    Each server has a client of its own, since a client makes only so many requests at a time: a server that hangs
    would delay the requests to all others, and whoever begins logins can cause them.
    """

    def __init__(self, timeout: float = FETCH_WITHIN) -> None:
        self._timeout = timeout
        self._names = Names()
        self._clients: dict[tuple[str, str], AsyncHTTPClient] = {}  # by scheme and authority

    async def __call__(self, fetch: Fetch) -> Fetched:
        """Returns the answer; raises `OSError`."""
        url = fetch.url.reveal()
        server = urlsplit(url)[:2]
        if server not in self._clients:
            # It belongs to the loop that uses it; without `force_instance`, Tornado would share it in the process.
            self._clients[server] = SimpleAsyncHTTPClient(
                force_instance=True,
                max_clients=MOST_EXCHANGES,
                max_buffer_size=LARGEST_ANSWER,
                max_body_size=LARGEST_ANSWER,
                resolver=self._names,
            )
        request = HTTPRequest(
            url,
            method=fetch.method or ("GET" if fetch.body is None else "POST"),
            headers=dict(fetch.headers),
            body=fetch.body,
            connect_timeout=fetch.timeout or self._timeout,
            request_timeout=fetch.timeout or self._timeout,
            follow_redirects=False,
            allow_nonstandard_methods=True,  # a DELETE with a body
        )
        try:
            answer = await self._clients[server].fetch(request, raise_error=False)
        except (HTTPClientError, UnsatisfiableReadError, ValueError) as error:
            raise OSError(str(error)) from error
        if answer.code == 599:
            raise OSError(str(answer.error))
        return Fetched(answer.code, answer.body or b"")
