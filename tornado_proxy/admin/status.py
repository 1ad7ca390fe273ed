"""The status page of the admin listener: its values, its charts as SVG, and the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from math import ceil

from markupsafe import Markup, escape

from tornado_proxy.pages.listing import human_size, timestamp, visible
from tornado_proxy.pages.render import Asset, asset
from tornado_proxy.telemetry.metrics import ErrorRow

WIDTH, HEIGHT = 300, 72
_TOP = 4  # pixels left free above the highest point

Points = Sequence[tuple[float, float | None]]
"""Time and value, in order of time; None where there is no value."""


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A line of a chart; `style` is its class in the style sheet. The area below an `area` is filled."""

    name: str
    style: str
    points: Points

    @property
    def last(self) -> float | None:
        """The newest value."""
        return self.points[-1][1] if self.points else None


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over a span of time; `start` and `end` are Unix times in seconds, `shown` formats a value with its unit."""

    title: str
    lines: tuple[ChartLine, ...]
    start: float
    end: float
    shown: Callable[[float], str]

    @property
    def top(self) -> float:
        """The highest value."""
        return max((value for line in self.lines for _, value in line.points if value is not None), default=0.0)

    @property
    def legend(self) -> tuple[tuple[str, str, str], ...]:
        """Name, class and newest value of each line."""
        return tuple(
            (line.name, line.style, "\N{EN DASH}" if (last := line.last) is None else self.shown(last))
            for line in self.lines
        )

    @property
    def peak(self) -> str:
        """The highest value as text; empty where there is no value."""
        return self.shown(self.top) if self.top else ""

    @property
    def svg(self) -> Markup:
        """The chart, which scales to its container, with a label for screen readers."""
        now = ", ".join(f"{name} {value}" for name, _, value in self.legend)
        label = f"{self.title}: {now}" + (f"; at most {self.peak}" if self.peak else "")
        paths = Markup("").join(path for line in self.lines for path in self._paths(line))
        return Markup(
            '<svg class="chart" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">'
            '<path class="grid" d="M0 {}H{}M0 {}H{}"/>{}</svg>'
        ).format(WIDTH, HEIGHT, label, HEIGHT // 2, WIDTH, HEIGHT - 1, WIDTH, paths)

    def _paths(self, line: ChartLine) -> Iterator[Markup]:
        for has_value, run in groupby(line.points, key=lambda point: point[1] is not None):
            places = [self._place(at, value) for at, value in run if value is not None] if has_value else []
            if not places:
                continue
            steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
            style = escape(line.style)
            if line.style == "area":
                yield Markup('<path class="fill {}" d="M{:.1f} {}L{}L{:.1f} {}Z"/>').format(
                    style, places[0][0], HEIGHT, steps, places[-1][0], HEIGHT
                )
            # A single point is a line of length zero; its round cap is visible.
            yield Markup('<path class="line {}" d="M{}{}"/>').format(style, steps, "h0" if len(places) == 1 else "")

    def _place(self, at: float, value: float) -> tuple[float, float]:
        across = WIDTH * (at - self.start) / (self.end - self.start)
        return across, HEIGHT - 1 - (HEIGHT - 1 - _TOP) * (value / self.top if self.top else 0.0)


@dataclass(frozen=True, slots=True)
class ReloadRow:
    """A reload after a change; `outcome` is `started`, `loaded`, `refused`, `failed` or `reverted`."""

    outcome: str
    generation: int  # in force afterwards
    at: float  # Unix time, seconds
    seconds: float | None = None
    changes: tuple[str, ...] = ()
    kept_back: tuple[str, ...] = ()  # settings that only a restart changes
    diagnostics: tuple[str, ...] = ()  # each with its excerpt
    unshown: int = 0  # further diagnostics


@dataclass(frozen=True, slots=True)
class TargetRow:
    """A target with the counts of its requests since the start; `probe` is the last probe of its bucket."""

    name: str
    addresses: tuple[str, ...]
    methods: tuple[str, ...]
    rewrites: int
    requests: int
    errors: int  # 4xx
    faults: int  # 5xx
    typical: str  # the median duration
    slow: str  # the 95th percentile
    probe: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class RewriteRow:
    """A rewrite and its hits since the start, or since its last change."""

    target: str
    number: int
    name: str | None
    source: str
    template: str
    place: str
    hits: int


@dataclass(frozen=True, slots=True)
class RewriteTable:
    """The first rewrites of a kind, and the total number of that kind."""

    rows: tuple[RewriteRow, ...] = ()
    total: int = 0


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a request: each section has a title, and rows of cells."""

    heading: str
    sections: tuple[tuple[str, Sequence[Sequence[str]]], ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """The values of the page; `state` is the JSON of `/-/status`, `asked` are the fields of the page's form."""

    state: Mapping[str, object]
    at: float  # Unix time, seconds
    started: float
    versions: Mapping[str, str]
    charts: tuple[Chart, ...]
    targets: tuple[TargetRow, ...]
    used: RewriteTable
    unused: RewriteTable
    reloads: tuple[ReloadRow, ...]  # the newest first
    errors: tuple[ErrorRow, ...]  # the newest first
    asked: Mapping[str, str] = field(default_factory=dict)
    explanation: Explanation | None = None

    @property
    def minutes(self) -> int:
        """The minutes that the charts show, rounded up."""
        return max((ceil((chart.end - chart.start) / 60) for chart in self.charts), default=0)


class StatusPages:
    """The status page, compiled once: later there may be no descriptor left to read its files."""

    def __init__(self) -> None:
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only after the service is ready

        environment = Environment(
            loader=PackageLoader("tornado_proxy.pages"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        environment.filters |= {
            "age": _age,
            "clock": lambda at: datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S"),
            "moment": lambda at: timestamp(datetime.fromtimestamp(at, UTC)),
            "size": human_size,
            "shown": visible,
            "text": _text,
        }
        self._template = environment.get_template("status.jinja")
        self._style, self._script = asset("tokens.css", "status.css"), asset("status.js")
        self.assets: Mapping[str, Asset] = {each.name: each for each in (self._style, self._script)}
        self.headers = (
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Security-Policy", _POLICY),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        )

    def render(self, overview: Overview) -> bytes:
        """Returns the page."""
        text = self._template.render(page=overview, style=self._style.name, script=self._script.name)
        return text.encode("utf-8", "replace")


_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def _text(message: str) -> Markup:
    """Returns a message as HTML; names in backticks become code."""
    parts = enumerate(visible(message).split("`"))
    return Markup("").join(Markup("<code>{}</code>").format(each) if at % 2 else escape(each) for at, each in parts)


def _age(seconds: float) -> str:
    """Formats a duration in its largest unit: `now`, `59 s`, `3 min`, `7 h`, `12 d`."""
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return "now"
