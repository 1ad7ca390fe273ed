"""Small charts of the last minutes as SVG; their numbers and names are shown as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup, escape

WIDTH, HEIGHT = 300, 72
_TOP = 4  # pixels left free above the highest point

Points = Sequence[tuple[float, float | None]]
"""Time and value, in order of time; None where there is no value."""


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A line of a chart; `style` is its class in the stylesheet, which also fills the area below an `area`."""

    name: str
    style: str
    points: Points

    @property
    def last(self) -> float | None:
        """The newest value."""
        return self.points[-1][1] if self.points else None


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over a span of time; `start` and `end` are Unix times in seconds, `shown` writes a value with its unit."""

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
        lasts = [(line, line.last) for line in self.lines]
        return tuple(
            (line.name, line.style, "\N{EN DASH}" if last is None else self.shown(last)) for line, last in lasts
        )

    @property
    def peak(self) -> str:
        """The highest value as text; empty where there is no value."""
        return self.shown(self.top) if self.top else ""

    @property
    def svg(self) -> Markup:
        """The drawing, which scales to its container, with a label for screen readers."""
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
            # A single point is a line without length, which a round cap shows.
            yield Markup('<path class="line {}" d="M{}{}"/>').format(style, steps, "h0" if len(places) == 1 else "")

    def _place(self, at: float, value: float) -> tuple[float, float]:
        across = WIDTH * (at - self.start) / (self.end - self.start)
        return across, HEIGHT - 1 - (HEIGHT - 1 - _TOP) * (value / self.top if self.top else 0.0)
