"""An administration with fixed answers, and an admin listener in front of one."""

from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from msgspec.structs import replace
from overviews import overview
from tornado.httpclient import AsyncHTTPClient
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from tornado_proxy.admin.application import admin_application
from tornado_proxy.admin.simulation import DraftFile, DraftPage, DraftResult
from tornado_proxy.admin.status import Explanation


@dataclass
class FakeAdministration:
    """An administration with fixed answers that records commands."""

    ready: bool = True
    in_force: bool = True
    reloads: int = 0
    levels: list[str] = field(default_factory=list)
    purges: list[tuple[str | None, str]] = field(default_factory=list)
    is_read_only: bool = False
    drafts: list[tuple[str, str]] = field(default_factory=list)
    result: DraftResult = field(default_factory=DraftResult)

    async def status(self):
        """The status."""
        return {"generation": 3}

    async def overview(self, fields):
        """The values of the status page."""
        explanation = Explanation(f"GET {fields['path']}", ()) if "path" in fields else None
        return overview(asked=fields, explanation=explanation)

    async def draft(self, path, text=None):
        """The page of a draft, whose text is recorded."""
        file = DraftFile("/etc/<rules>/site.rules", "<rules>/site.rules", ("site",))
        files = (file, DraftFile("/etc/b.rules", "b.rules"))
        page = DraftPage(files, file, "target <site> {}\n", kept=3, most_kept=500)
        if text is None:
            return page
        self.drafts.append((path, text))
        return replace(page, text=text, result=self.result)

    async def requests(self):
        """The last requests."""
        return {"version": 1, "requests": []}

    async def rewrites(self):
        """The rewrites."""
        return {"rewrites": [{"target": "site", "number": 1, "hits": 3}]}

    async def configuration(self):
        """The configuration."""
        return {"config": {"rules": []}}

    def is_ready(self):
        """Whether it is ready."""
        return self.ready

    async def reload(self):
        """Count a reload."""
        self.reloads += 1
        return self.in_force, {"outcome": "loaded" if self.in_force else "refused"}

    async def purge(self, target, prefix):
        """Record a purge; the target `bare` has no cache."""
        self.purges.append((target, prefix))
        return None if target == "bare" else 3

    def set_log_level(self, level):
        """Record a log level."""
        self.levels.append(level)

    async def metrics(self):
        """The metrics."""
        return b"tornado_proxy_generation 3.0\n"


@asynccontextmanager
async def listener(administration, **options: bool):
    server = HTTPServer(admin_application(administration), **options)
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    client = AsyncHTTPClient(force_instance=True)

    address = f"127.0.0.1:{sockets[0].getsockname()[1]}"

    async def ask(method: str, path: str, *, follow: bool = True, body: str = "", **headers: str):
        url = f"http://{address}{path}"
        options = {"body": body if method == "POST" else None, "follow_redirects": follow}
        return await client.fetch(url, method=method, headers=headers, raise_error=False, **options)

    ask.address = address
    try:
        yield ask
    finally:
        client.close()
        server.stop()
        await server.close_all_connections()
