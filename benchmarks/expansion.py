"""The cost of making a key from a template: `python benchmarks/expansion.py [TIMES]`.

It compares a plain template, `re.Match.expand` of Python for the same template, a bounded `jinja` template, and the
sandbox of Jinja2 without bounds. Times are microseconds per key, as medians of rounds. The ratios can be compared
between machines.
"""

from __future__ import annotations

import re
import statistics
import sys
import time
from collections.abc import Callable

from jinja2.sandbox import SandboxedEnvironment

from gotemplate.regexp.matching import compile_pattern
from tornado_proxy.semantics.request import User
from tornado_proxy.templates import jinja
from tornado_proxy.templates.template import TargetKeyRewriteData, compile_plain

ROUNDS = 7
SOURCE = r"^/(?P<year>\d{4})/(?P<month>\d{2})/(?P<slug>[^/]+)\.html$"
KEY = "/2024/05/a-page-of-the-site.html"
PLAIN = "/archive/$year/${month}/$slug/index.html"
RE_TEMPLATE = r"/archive/\g<year>/\g<month>/\g<slug>/index.html"
JINJA = "/archive/{{ groups.year }}/{{ groups.month }}/{{ groups.slug }}/index.html"
JINJA_OF_A_USER = (
    "/users/{{ user.username }}/{{ groups.slug|lower }}{% if user.groups %}/{{ user.groups[0] }}{% endif %}"
)


def microseconds(render: Callable[[], str], times: int) -> float:
    """Returns the median time of one key."""
    rounds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(times):
            render()
        rounds.append((time.perf_counter() - began) / times * 1e6)
    return statistics.median(rounds)


def renderers() -> dict[str, Callable[[], str]]:
    """Returns a function for each way to make the key, by name."""
    pattern = compile_pattern(SOURCE)
    captures = pattern.search(KEY)
    assert captures
    match = re.compile(SOURCE).search(KEY)
    assert match
    user = User("ann", groups=("editors",))
    data = TargetKeyRewriteData(KEY, user)
    bounded = {
        name: jinja.compile_template(text, pattern.names, 3)
        for name, text in (("groups", JINJA), ("user", JINJA_OF_A_USER))
    }
    sandbox = SandboxedEnvironment()
    unbounded, unbounded_of_a_user = sandbox.from_string(JINJA), sandbox.from_string(JINJA_OF_A_USER)
    text = compile_plain(PLAIN)
    groups = match.groupdict()
    return {
        "plain": lambda: text.render(captures, data),
        "re expand": lambda: match.expand(RE_TEMPLATE),
        "jinja": lambda: bounded["groups"].render(captures, data),
        "jinja, Jinja2's sandbox": lambda: unbounded.render(groups=groups),
        "jinja of a user": lambda: bounded["user"].render(captures, data),
        "jinja of a user, Jinja2's sandbox": lambda: unbounded_of_a_user.render(groups=groups, user=user),
    }


def main() -> None:
    """Prints a line for each way."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    measured = {name: microseconds(render, times) for name, render in renderers().items()}
    print(f"{'':36} {'µs':>8} {'to plain':>9}")
    for name, time_per_key in measured.items():
        print(f"{name:36} {time_per_key:8.2f} {time_per_key / measured['plain']:9.1f}")


if __name__ == "__main__":
    main()
