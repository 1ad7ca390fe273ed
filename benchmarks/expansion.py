"""The cost of making a key from a template: `python benchmarks/expansion.py [TIMES]`.

It compares a plain template, `re.Match.expand` of Python for the same template, a bounded `jinja` template of ours, and
the sandbox of Jinja2 without bounds. Times are microseconds per key, as medians of rounds. The ratios can be compared
between machines.
"""

from __future__ import annotations

import re
import statistics
import sys
import time
from collections.abc import Callable

from jinja2.sandbox import SandboxedEnvironment

from tornado_proxy.goregex.matching import compile_pattern
from tornado_proxy.templates import jinja
from tornado_proxy.templates.template import TargetKeyRewriteData, User, compile_plain

ROUNDS = 7
SOURCE = r"^/(?P<year>\d{4})/(?P<month>\d{2})/(?P<slug>[^/]+)\.html$"
KEY = "/2024/05/a-page-of-the-site.html"
PLAIN = "/archive/$year/${month}/$slug/index.html"
BY_RE = r"/archive/\g<year>/\g<month>/\g<slug>/index.html"
JINJA = "/archive/{{ groups.year }}/{{ groups.month }}/{{ groups.slug }}/index.html"
JINJA_OF_A_USER = (
    "/users/{{ user.username }}/{{ groups.slug|lower }}{% if user.groups %}/{{ user.groups[0] }}{% endif %}"
)


def microseconds(make: Callable[[], str], times: int) -> float:
    """Returns the median time of one key."""
    rounds = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for _ in range(times):
            make()
        rounds.append((time.perf_counter() - begun) / times * 1e6)
    return statistics.median(rounds)


def ways() -> dict[str, Callable[[], str]]:
    """Each way to make the key, ready to be called."""
    pattern = compile_pattern(SOURCE)
    captures = pattern.search(KEY)
    assert captures
    found = re.compile(SOURCE).search(KEY)
    assert found
    user = User("ann", groups=("editors",))
    data = TargetKeyRewriteData(KEY, user)
    ours = {
        name: jinja.compile_template(text, pattern.names, 3)
        for name, text in (("groups", JINJA), ("user", JINJA_OF_A_USER))
    }
    theirs = SandboxedEnvironment()
    unbounded, unbounded_of_a_user = theirs.from_string(JINJA), theirs.from_string(JINJA_OF_A_USER)
    text = compile_plain(PLAIN)
    groups = found.groupdict()
    return {
        "plain": lambda: text.render(captures, data),
        "re expand": lambda: found.expand(BY_RE),
        "jinja": lambda: ours["groups"].render(captures, data),
        "jinja, Jinja2's sandbox": lambda: unbounded.render(groups=groups),
        "jinja of a user": lambda: ours["user"].render(captures, data),
        "jinja of a user, Jinja2's sandbox": lambda: unbounded_of_a_user.render(groups=groups, user=user),
    }


def main() -> None:
    """Prints a line for each way."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    measured = {name: microseconds(make, times) for name, make in ways().items()}
    print(f"{'':36} {'µs':>8} {'to plain':>9}")
    for name, each in measured.items():
        print(f"{name:36} {each:8.2f} {each / measured['plain']:9.1f}")


if __name__ == "__main__":
    main()
