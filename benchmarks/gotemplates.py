"""The cost of Go templates: `python benchmarks/gotemplates.py [ROUNDS]` prints a line for each template.

Each line also shows the same template in Jinja2, plain and bounded by this project; the ratios can be compared
between machines. The last lines show the slowest of some templates with endless work, and the cost of loading.
"""

from __future__ import annotations

import sys
import timeit
from collections.abc import Callable

import jinja2

from gotemplate.regexp.matching import Captures
from gotemplate.template.errors import LimitError
from tornado_proxy.semantics.request import User
from tornado_proxy.templates import jinja
from tornado_proxy.templates.go import compile_template
from tornado_proxy.templates.template import TargetKeyRewriteData

CAPTURES = Captures(("/home/docs/Report 2024.txt", "docs", "Report 2024.txt"), {"folder": 1, "file": 2})
DATA = TargetKeyRewriteData("/home/docs/Report 2024.txt", User("ann", email="ann@example.com", groups=("dev", "ops")))

TEMPLATES = {
    "plain text": ("/index.html", "/index.html"),
    "one field": ("/site{{ .Key }}", "/site{{ key }}"),
    "user and key": ("/{{ .User.Username }}{{ .Key }}", "/{{ user.username }}{{ key }}"),
    "groups": ("/{{ .Groups.folder }}/{{ .Groups.file }}", "/{{ groups.folder }}/{{ groups.file }}"),
    "method and function": (
        "/users/{{ .User.GetIdentifier | lower }}/{{ .Groups.file | replace ` ` `-` }}",
        "/users/{{ user.username | lower }}/{{ groups.file | replace(' ', '-') }}",
    ),
    "condition": (
        "{{ if .User }}/{{ .User.Username }}{{ else }}/public{{ end }}{{ .Key }}",
        "{% if user %}/{{ user.username }}{% else %}/public{% endif %}{{ key }}",
    ),
    "loop": (
        "{{ range $i, $part := splitList `/` .Key }}{{ if $i }}/{{ $part | upper }}{{ end }}{{ end }}",
        "{% for part in key.split('/') %}{% if loop.index0 %}/{{ part | upper }}{% endif %}{% endfor %}",
    ),
    "printf": ("{{ printf `/%s/%05d%s` .User.Username 7 .Key }}", "{{ '/%s/%05d%s' % (user.username, 7, key) }}"),
    "expression": ("{{ regexReplaceAll `^/home/(.*)$` .Key `/${1}` }}", "{{ key | replace('/home/', '/') }}"),
}

ENDLESS_TEMPLATES = (
    "{{ range until 4000 }}{{ range until 4000 }}x{{ end }}{{ end }}",
    '{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}',
    "{{ $k := repeat 15 .Key }}{{ range until 4000 }}{{ $_ := snakecase $k }}{{ end }}",
    "{{ $k := repeat 15 .Key }}{{ range until 4000 }}{{ $_ := regexReplaceAll `(x*)y|.` $k `$1` }}{{ end }}",
    "{{ $l := until 4000 }}{{ range until 4000 }}{{ $_ := join `,` $l }}{{ end }}",
    "{{ range until 4000 }}{{ $_ := regexMatch (printf `(x{500}y{%d})` .) $.Key }}{{ end }}",
)


def microseconds(call: Callable[[], object], rounds: int) -> float:
    """Returns the shortest time of one call in five runs."""
    return min(timeit.repeat(call, number=rounds, repeat=5)) / rounds * 1e6


def compare(name: str, go_text: str, jinja_text: str, rounds: int) -> None:
    """Prints the line of a template and its equivalent in Jinja2."""
    template = compile_template(go_text, CAPTURES.names, 2)
    bounded = jinja.compile_template(jinja_text, CAPTURES.names, 2)
    plain = jinja2.Environment(autoescape=False).from_string(jinja_text)
    names = {"user": DATA.user, "key": DATA.key, "groups": {"folder": "docs", "file": "Report 2024.txt"}}
    assert template.render(CAPTURES, DATA) == bounded.render(CAPTURES, DATA), name
    times = [
        microseconds(lambda: template.render(CAPTURES, DATA), rounds),
        microseconds(lambda: bounded.render(CAPTURES, DATA), rounds),
        microseconds(lambda: plain.render(names), rounds),
    ]
    of_bounded, of_plain = times[0] / times[1], times[0] / times[2]
    print(f"{name:20}{times[0]:8.1f} µs  {of_bounded:5.2f} of bounded Jinja2  {of_plain:5.2f} of plain Jinja2")


def milliseconds_to_limit(text: str) -> float:
    """Returns the milliseconds until a template exceeds its limit."""
    template = compile_template(text, {}, 0)
    data = TargetKeyRewriteData("/" + "é" * 511)

    def render() -> None:
        try:
            template.render(Captures(("/",)), data)
        except LimitError:
            return
        raise AssertionError(text)

    return microseconds(render, 1) / 1000


def main() -> None:
    """Prints the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    for name, (go_text, jinja_text) in TEMPLATES.items():
        compare(name, go_text, jinja_text, rounds)
    worst = max(map(milliseconds_to_limit, ENDLESS_TEMPLATES))
    print(f"{'limited after':20}{worst:8.1f} ms at most, for {len(ENDLESS_TEMPLATES)} templates with endless work")
    texts = iter(f"/{number}/{{{{ .User.Username }}}}/{{{{ .Groups.file }}}}{{{{ .Key }}}}" for number in range(10**9))
    loading = microseconds(lambda: compile_template(next(texts), CAPTURES.names, 2), max(rounds // 10, 1))
    print(f"{'loading':20}{loading:8.1f} µs for a template of three actions that occur in other rules, too")


if __name__ == "__main__":
    main()
