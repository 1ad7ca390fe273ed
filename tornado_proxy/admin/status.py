"""The status page of the admin listener: its values, its charts as SVG, and the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import groupby
from math import ceil, floor, log, log10
from urllib.parse import urlencode

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from tornado_proxy.pages.listing import human_size, timestamp, visible
from tornado_proxy.pages.render import Asset, asset
from tornado_proxy.routing.compare import KeptRequest
from tornado_proxy.routing.plan import Attempt
from tornado_proxy.semantics.fields import path_reference
from tornado_proxy.telemetry.metrics import WAITS, RequestRow, Tally

Points = Sequence[tuple[float, float | None]]  # time and value, in order of time; None where there is no value


class ChartLine(msgspec.Struct, frozen=True):
    """A line of a chart; `style` is its class in the style sheet. The area below an `area` is filled."""

    name: str
    style: str
    points: Points

    @property
    def last(self) -> float | None:
        """The newest value."""
        return self.points[-1][1] if self.points else None


class Chart(msgspec.Struct, frozen=True):
    """Lines over a span of time; `start` and `end` are Unix times in seconds, `shown` formats a value with its unit."""

    title: str
    lines: tuple[ChartLine, ...]
    start: float
    end: float
    shown: Callable[[float], str]
    in_bytes: bool = False
    width: int = 300
    height: int = 72  # one pixel is free above the upper end of the axis, and one below

    @property
    def top(self) -> float:
        """The highest value."""
        return max((value for line in self.lines for _, value in line.points if value is not None), default=0.0)

    @property
    def scale(self) -> float:
        """The value at the upper end of the axis: the highest value, rounded up to 1, 2 or 5 times a power of ten.

        Of bytes this is a round number of KiB, MiB and so on.
        """
        if not self.top:
            return 1.0
        unit = 1024.0 ** max(0, floor(log(self.top, 1024))) if self.in_bytes else 1.0
        power = unit * 10.0 ** floor(log10(self.top / unit))
        return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= self.top * (1 - 1e-9))

    @property
    def legend(self) -> tuple[tuple[str, str, str, str], ...]:
        """Name, class, newest value, and lowest and highest value of each line."""
        return tuple((line.name, line.style, self._value(line.last), self._range(line)) for line in self.lines)

    def _value(self, value: float | None) -> str:
        return "\N{EN DASH}" if value is None else self.shown(value)

    def _range(self, line: ChartLine) -> str:
        values = [value for _, value in line.points if value is not None]
        least, most = (self.shown(choose(values, default=0.0)) for choose in (min, max))
        return "" if least == most else f"{least} to {most}"

    @property
    def axis(self) -> tuple[str, str, str]:
        """The values at the lower end of the axis, in its middle, and at its upper end."""
        low, middle, high = (self.shown(part * self.scale).lstrip("\N{LESS-THAN OR EQUAL TO} ") for part in (0, 0.5, 1))
        return low, middle, high

    @property
    def peak(self) -> str:
        """The highest value as text; empty where there is no value."""
        return self.shown(self.top) if self.top else ""

    def runs(self, line: ChartLine) -> Iterator[list[str]]:
        """Yields the places of the points of a line, without those that have no value, between which it is cut."""
        for has_value, run in groupby(line.points, key=lambda point: point[1] is not None):
            if has_value:
                yield [self._place(at, value) for at, value in run if value is not None]

    def _place(self, at: float, value: float) -> str:
        across = self.width * (at - self.start) / (self.end - self.start)
        return f"{across:.1f} {self.height - 1 - (self.height - 2) * value / self.scale:.1f}"


class ReloadRow(msgspec.Struct, frozen=True):
    """A reload after a change; `outcome` is `started`, `loaded`, `refused`, `failed` or `reverted`."""

    outcome: str
    generation: int  # in force afterwards
    at: float  # Unix time, seconds
    seconds: float | None = None
    changes: tuple[str, ...] = ()
    kept_back: tuple[str, ...] = ()  # settings that only a restart changes
    diagnostics: tuple[str, ...] = ()  # each with its excerpt
    unshown: int = 0  # further diagnostics


class TargetRow(msgspec.Struct, frozen=True):
    """A target with the numbers of its requests since the start; `view` is its JSON, empty for no single target."""

    name: str
    tally: Tally
    view: Mapping[str, object] = {}


class RewriteRow(msgspec.Struct, frozen=True):
    """A rewrite and its hits since the start, or since its last change."""

    target: str
    number: int
    name: str | None
    does: str  # such as `rewrite` or `redirect 301`
    source: str
    template: str
    place: str
    hits: int
    minutes: tuple[int, ...] = ()  # hits in each of the last minutes, the oldest first


RewriteRows = tuple[Sequence[RewriteRow], int]  # the first rewrites of a kind, and the number of all


Piece = tuple[str, int | None]  # a piece of a text, and the number of the group to which it belongs, if any


class PathStep(msgspec.Struct, frozen=True):
    """A step from a request to its answer: its lines, each in pieces; `outcome` is `good`, `bad` or empty."""

    title: str
    lines: tuple[tuple[Piece, ...], ...]
    outcome: str = ""


class Explanation(msgspec.Struct, frozen=True):
    """The explanation of a request: each section has a title, and rows of cells."""

    heading: str
    sections: tuple[tuple[str, Sequence[Sequence[str]]], ...]
    path: tuple[PathStep, ...] = ()
    target: str | None = None
    attempts: tuple[Attempt, ...] = ()  # of the plan


class Overview(msgspec.Struct, frozen=True):
    """The values of the page; `state` is the JSON of `/-/status`, `asked` are the fields of the page's form."""

    state: Mapping[str, object]
    at: float  # Unix time, seconds
    started: float
    versions: Mapping[str, str]
    charts: tuple[Chart, ...]
    targets: tuple[TargetRow, ...]
    used: RewriteRows
    unused: RewriteRows
    reloads: tuple[ReloadRow, ...]  # the newest first
    errors: tuple[RequestRow, ...]  # the newest first
    asked: Mapping[str, str] = {}
    explanation: Explanation | None = None
    recent: tuple[RequestRow, ...] = ()  # the newest first
    ignoring: frozenset[str] = frozenset()  # targets whose S3 does not heed the conditions of uploads

    @property
    def minutes(self) -> int:
        """The minutes that the charts show, rounded up."""
        return max((ceil((chart.end - chart.start) / 60) for chart in self.charts), default=0)


_AGES = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))  # an age is shown in its largest unit: `3 min`, `7 h`


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tornado_proxy.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "age": lambda seconds: next((f"{int(seconds // each)} {of}" for each, of in _AGES if seconds >= each), "now"),
        "explained": _explained,
        "milliseconds": lambda seconds: f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.1f} s",
        "clock": lambda at: datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S"),
        "moment": lambda at: timestamp(datetime.fromtimestamp(at, UTC)),
        "size": human_size,
        "shown": visible,
        "text": _text,
        "wait": shown_wait,
    }
    return environment


class StatusPages:
    """The status page and the page of drafts, compiled once."""

    def __init__(self) -> None:
        names = "status.jinja", "draft.jinja", "charts.jinja", "steps.jinja"  # the last ones are parts of the others
        self._template, self._draft, *_ = map(_environment().get_template, names)
        self._style, self._script = asset("tokens.css", "status.css"), asset("status.js")
        self._draft_script = asset("draft.js")
        self.assets: Mapping[str, Asset] = {each.name: each for each in (self._style, self._script, self._draft_script)}
        self.headers = (
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Security-Policy", _POLICY),
            # With `no-referrer`, browsers would hide the origin of the page's own forms too (Fetch, 3.2).
            ("Referrer-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        )

    def render(self, overview: Overview, *, may_act: bool = False) -> bytes:
        """Returns the page, with the link to the draft box if that may be used."""
        names = {"style": self._style.name, "script": self._script.name}
        text = self._template.render(page=overview, may_act=may_act, **names)
        return text.encode("utf-8", "replace")

    def render_draft(self, page: msgspec.Struct) -> bytes:
        """Returns the page of a draft."""
        text = self._draft.render(page=page, style=self._style.name, script=self._draft_script.name)
        return text.encode("utf-8", "replace")


_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def _text(message: str) -> Markup:
    parts = enumerate(visible(message).split("`"))
    return Markup("").join(Markup("<code>{}</code>").format(each) if at % 2 else escape(each) for at, each in parts)


def _explained(request: RequestRow | KeptRequest) -> str:
    fields = {"method": request.method, "path": path_reference(request.path)}
    if isinstance(request, KeptRequest):
        fields["host"] = request.host
    return f"./?{urlencode(fields)}#explain"


def shown_wait(seconds: float | None) -> str:
    """Writes the upper bound of a bucket of times: no more than that is known."""
    if seconds is None:
        return "\N{EN DASH}"
    if seconds >= WAITS[-1]:
        return f"over {WAITS[-2]:g} s"
    return "\N{LESS-THAN OR EQUAL TO} " + (f"{seconds:g} s" if seconds >= 1 else f"{seconds * 1000:g} ms")
