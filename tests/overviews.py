"""Values of a status page with a row of every kind."""

from typing import Any

from tornado_proxy.admin.status import Chart, ChartLine, Overview, ReloadRow, RewriteRow, TargetRow
from tornado_proxy.telemetry.metrics import RequestRow, Tally

NOW = 1_780_000_000.0

STATE: dict[str, Any] = {
    "version": "0.1.0", "ready": True, "generation": 3, "digest": "9f1bec081b85aa17",
    "loadedAt": "2026-05-28T20:26:40.000Z", "targets": {}, "failingTests": [], "lastAttempt": None,
    "lastFailedAttempt": None, "startedFromLastGood": False, "lastGoodTrouble": None, "defects": [],
    "certificates": [], "workers": [{"pid": 4711, "generation": 3, "inFlight": 2, "retiring": 0}, {"pid": 4712}],
}  # fmt: skip
FAILED = {
    "outcome": "refused",
    "generation": 3,
    "diagnostics": [
        {"severity": "error", "message": "unclosed group", "file": "/etc/rules/site.rules", "line": 2, "column": 13}
    ],
}
PROBE = {
    "up": False,
    "at": "2026-05-28T20:26:00.000Z",
    "problem": {"message": "there is no bucket `x`", "help": "create the bucket"},
}
VIEW = {"host": "", "paths": ["/"], "methods": ["GET", "HEAD"], "rewrites": 2, "probe": None}
_PRESS = RewriteRow(
    *("site", 1, "press", "rewrite", r"^/press/(?P<page>[^/]+)\.html$", "/archive/$page.html"),
    *("site.rules:2:5", 7, (0, 3, 4)),
)
_OLD = RewriteRow("site", 2, None, "redirect 301", "^/<old>/", "/new/", "site.rules:3:5", 0)
_POINTS = [(NOW - 15, 1.0), (NOW - 10, None), (NOW - 5, 4.0), (NOW, 2.0)]


def overview(**replacements: Any) -> Overview:
    """The values of a page; `replacements` replace fields."""
    chart = Chart("Requests", (ChartLine("all", "area", _POINTS),), NOW - 900, NOW, lambda value: f"{value:.1f}/s")
    values = {
        "state": STATE,
        "at": NOW,
        "started": NOW - 7200,
        "versions": {"tornado-proxy": "0.1.0", "Python": "3.11.2"},
        "charts": (chart,),
        "targets": (
            TargetRow("site", Tally((0, 1221, 0, 12, 1), (0, 0, 1200, 34, *[0] * 12)), VIEW),
            TargetRow("team", Tally(), {**VIEW, "paths": ["/team/"], "methods": ["GET"], "rewrites": 0, "probe": PROBE}),
        ),
        "used": ((_PRESS,), 1),
        "unused": ((_OLD,), 1),
        "reloads": (
            ReloadRow("refused", 3, NOW - 5, 0.03, diagnostics=("error[bad-source]: missing `)`\n --> <x>:2:13",), unshown=2),
            ReloadRow("loaded", 3, NOW - 65, 0.1, ("target `site`: rewrites added: `press`",), ("log",)),
            ReloadRow("started", 1, NOW - 7200),
        ),
        "errors": (
            RequestRow(NOW - 2, 502, "GET", "site", "/<script>\x07", None, 0, 0.1, "S3 cannot be reached at `s3.test`", "4f2a"),
            RequestRow(NOW - 3, 404, "GET", None, "/x", None, 0, 0.1, "no target is mounted at this host and path", "4f2b"),
        ),
        "recent": (RequestRow(NOW - 1, 200, "GET", "site", "/press/<a>.html", "press", 1500, 0.0042),),
    }  # fmt: skip
    return Overview(**(values | replacements))
