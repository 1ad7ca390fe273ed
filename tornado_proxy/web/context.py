"""What a plan is performed with: its decision and request, and the parts of the generation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from tornado_proxy.pages.custom import CustomRendering, PageData
from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.decide import Decision, beside, opens_all_below
from tornado_proxy.routing.mounts import RouteMatch
from tornado_proxy.routing.plan import RedirectToSignedUrl, Serve
from tornado_proxy.rules.model import path_objection
from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.semantics.request import Request, RequestPath, User
from tornado_proxy.storage.store import Entry, Store
from tornado_proxy.web.generation import Parts
from tornado_proxy.web.incoming_file import IncomingFile
from tornado_proxy.web.limits import DECISIONS_A_TURN
from tornado_proxy.wire.shares import Shares


class RequestContext(msgspec.Struct, frozen=True):
    """The values that a plan is performed with."""

    decision: Decision
    match: RouteMatch  # the target of the request
    parts: Parts
    headers: Mapping[str, str]  # of the request, names in any case
    conditions: Conditions  # of the request
    walks: Shares  # through directories
    archives: Shares  # that are listed or sent
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
        return beside(self.parts.mounts, self.decision, RequestPath(path), method, permitted=permitted)

    def file(self, decision: Decision) -> Serve | RedirectToSignedUrl | None:
        """Returns the plan's first attempt, if it serves a file of this target."""
        first = decision.plan[0]
        return first if self.decision.admits(decision) and isinstance(first, Serve | RedirectToSignedUrl) else None

    @property
    def shows_all(self) -> bool:
        """Whether the user may see every entry below the path of the request."""
        return not self.match.site.hides and opens_all_below(self.parts.mounts, self.decision)

    async def visible(self, entries: Sequence[Entry], most: int) -> list[Entry]:
        """Returns the first entries that the user may request; a policy was asked about the directory only."""
        if self.shows_all:
            return list(entries[:most])
        opened: list[Entry] = []
        for number, each in enumerate(entries):
            if len(opened) == most:
                break
            if number % DECISIONS_A_TURN == 0:
                await asyncio.sleep(0)
            if self.match.site.shows(each.name) and self._is_open(self.request.path + each.name):
                opened.append(each)
        return opened

    def _is_open(self, path: str) -> bool:
        # A path that no request can name is not decided about; a listing shows it without a link.
        if path_objection(path):
            return True
        decision = self.beside(path, permitted=True)
        # Of a mount below, only the directory itself is shown: what this target has there, nobody can request.
        return not decision.is_refused if path.endswith("/") else self.file(decision) is not None

    async def written(self, kind: str, data: Callable[[], PageData]) -> CustomRendering | None:
        """Returns the rendering of a custom page, or None without one; raises `PageFailed`."""
        return await self.parts.renderer.render(kind, self.match.site.target.name, self.store, data)
