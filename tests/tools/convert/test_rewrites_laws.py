"""The proof of "the same key": s3-proxy's rewriting, modelled as its code does it, beside what was made of its rules."""

import re
from typing import NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

from tornado_proxy.config.model import Bucket
from tornado_proxy.config.values import prefix as as_directory
from tornado_proxy.goregex.matching import compile_pattern
from tornado_proxy.goregex.syntax import PatternError
from tornado_proxy.lang.diagnostic import SourceFile, Span
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.routing.request import object_key
from tornado_proxy.rules.loading import RuleFile, compile_rule_files
from tornado_proxy.rules.model import RefusedResult, path_objection
from tornado_proxy.templates import golang
from tornado_proxy.templates.template import (
    RequestData,
    TargetData,
    TargetKeyRewriteData,
    TemplateMistake,
    User,
    compile_plain,
)
from tornado_proxy.tools.convert.go_targets import Surroundings
from tornado_proxy.tools.convert.rewrites import Given, KeysAs, LeftOut, converted, rule_text

NOWHERE = Span(SourceFile("conf.yaml", "\n"), 0, 0)
ANN = User("ann")


class Rule(NamedTuple):
    """An entry of a `keyRewriteList`."""

    source: str
    target: str
    dialect: Dialect = Dialect.PLAIN


def start_prefix(configured):
    """What s3-proxy puts in front of a path: the prefix with a closing slash, its leading one kept."""
    return configured if not configured or configured.endswith("/") else f"{configured}/"


def s3_proxy_key(rules, configured, path, method):
    """The key that s3-proxy's code hands to its SDK, and the number of the rule that made it; None for none."""
    key = start_prefix(configured) + path.removeprefix("/")
    for number, rule in enumerate(rules):
        pattern = compile_pattern(rule.source)
        captures = pattern.search(key)
        if captures is not None:
            compile_template = golang.compile_template if rule.dialect is Dialect.GO else compile_plain
            template = compile_template(rule.target, pattern.names, pattern.group_count)
            target = TargetData("site", "bucket", configured)
            data = TargetKeyRewriteData(key, ANN, RequestData(method), target)
            return template.render(captures, data), number
    return key, None


def on_the_wire(key):
    """The key that the SDK asks S3 for: it cleans the path of the call."""
    return re.sub("/+", "/", key).lstrip("/")


def written_rules(rules, configured):
    """What becomes of a list, and its rule set as it is loaded from the file that is written."""
    entries = [Given(rule.source, rule.target, rule.dialect, NOWHERE) for rule in rules]
    done = converted(entries, Surroundings(configured, start_prefix(configured)), KeysAs.ACTUAL)
    loaded = compile_rule_files([RuleFile("site.rules", rule_text("site", done).encode())])
    assert loaded.diagnostics == ()
    return done, loaded.rule_sets["site"]


def assert_same_key(rules, configured, path, method="GET"):
    """The one law: where the rule that s3-proxy applies was not left out, both ask S3 for the same key."""
    done, rule_set = written_rules(rules, configured)
    theirs, number = s3_proxy_key(rules, configured, path, method)
    if number is not None and isinstance(done[number].result, LeftOut):
        return
    bucket = Bucket("bucket", as_directory(configured))
    data = TargetKeyRewriteData(f"/{path}", ANN, RequestData(method), TargetData("site", "bucket", bucket.prefix))
    try:
        ours = object_key(bucket, rule_set.apply(data).key)
    except RefusedResult:
        # Announced for all rules: an empty result and dot segments are refused here.
        assert theirs.strip("/") in ("", configured.strip("/")) or path_objection(f"/{theirs}")
        return
    expected = on_the_wire(theirs)
    if path.endswith("/") or not path:
        expected, ours = expected.rstrip("/"), ours.rstrip("/")
    assert ours == expected, (rules, configured, path, [each.result for each in done], ours, expected)


NAMES = st.sampled_from(["a", "b", "f", "ab", "f.a", "x.html"])
PATHS = st.builds(
    lambda names, slash: "/".join(names) + ("/" if slash and names else ""), st.lists(NAMES, max_size=4), st.booleans()
)
PREFIXES = st.sampled_from(["", "f", "f/", "/f", "/", "f/a", "a.b/"])
ATOMS = st.sampled_from(["a", "b", "f", "/", r"\.", ".", r"\w", "[^/]", "[a/]", "x", r"\b", "html", "f/", "/a"])
REPEATS = st.sampled_from(["", "", "", "*", "+", "?", "*?", "{2}"])
PLACED = st.sampled_from(["{}", "{}", "({})", "(?P<one>{})", "(?:{})", "({}|a)", "(?i:{})", "(/{})?"])


def _repeated(atom, repeat):
    return (
        atom
        if atom == r"\b"
        else (f"(?:{atom})" if len(atom) > 1 and not atom.startswith(("\\", "[")) else atom) + repeat
    )


PIECES = st.builds(
    lambda placed, atoms: placed.format("".join(atoms)),
    PLACED,
    st.lists(st.builds(_repeated, ATOMS, REPEATS), max_size=3),
)
SOURCES = st.builds(
    lambda opening, pieces, end, joint: opening + joint.join(pieces) + end,
    st.sampled_from(["", "^", "^", "^/", "^f/", "^/f/", "^f/a/", "(?i)^", "^(?i)", r"\A", "^^", "(?m)^", "^a.b/"]),
    st.lists(PIECES, max_size=3),
    st.sampled_from(["", "$", r"\z", "(.*)$", "/(.*)$"]),
    st.sampled_from(["", "", "/", "|", "|^"]),
)
TARGETS = st.lists(
    st.sampled_from(
        ["/", "f", "f/", "/f/", "a", "x/", "$1", "${one}", "$2", "$one", "${1}x", "$0", "$$", ".", "f/a/", "a.b/"]
    ),
    max_size=4,
).map("".join)
ACTIONS = st.sampled_from(
    [
        "{{ .Key }}",
        "{{ $.Key }}",
        "{{ .Key | upper }}",
        "{{ lower .Key }}",
        '{{ .Key | trimPrefix "f/" }}',
        '{{ trimPrefix "a/" .Key | upper }}',
        '{{ trimPrefix "a" .Key }}',
        "{{ .Key | base }}",
        '{{ regexReplaceAll "a(/?)" .Key "${1}//f/" }}',
        '{{ printf "%s/\\n/%s" .Key .User.Username }}',
        '{{ include "main.userIdentifier" . }}',
        '{{ template "main.userIdentifier" . }}',
        '{{ $k := .Key | replace "a" "/" }}{{ $k | trimSuffix "/" }}',
        "{{ .User.GetUsername }}",
        "{{ .Request.Method }}",
        "{{ .Target.Bucket.Prefix }}",
        '{{ if hasPrefix "f" .Key }}a{{ else }}b/{{ end }}',
        '{{ if eq .Key "a" "f/a" "/f/a" }}{{ .Key }}{{ end }}',
        "{{- $k := .Key -}}",
        "{{ $k := len .Key }}{{ if gt $k 3 }}x{{ end }}",
        "{{/* said */}}",
        "\n",
        " ",
        "/",
        "f/",
        "/f/",
        "a",
        "a.b/",
    ]
)
GO_TARGETS = st.lists(ACTIONS, max_size=4).map("".join)
RULES = st.builds(Rule, SOURCES, TARGETS, st.just(Dialect.PLAIN)) | st.builds(
    Rule, SOURCES, GO_TARGETS, st.just(Dialect.GO)
)


def _is_rule(rule):
    """Whether s3-proxy would start with a rule, and its target is one at all."""
    try:
        pattern = compile_pattern(rule.source)
        if rule.dialect is Dialect.GO:
            golang.compile_template(rule.target, pattern.names, pattern.group_count)
    except (PatternError, TemplateMistake):
        return False
    return True


@given(st.lists(RULES.filter(_is_rule), max_size=3), PREFIXES, PATHS, st.sampled_from(["GET", "DELETE"]))
@example([Rule("^file$", "other")], "", "file", "GET")
@example([Rule("^f/(.*)$", "f/a/$1")], "f", "b/x.html", "GET")
@example([Rule("^docs(.*)$", "new/$1")], "", "docs/a", "GET")
@example([Rule(".*", "all")], "", "a/", "GET")
@example([Rule("", "f$0")], "", "a", "GET")
def test_a_rule_that_is_carried_over_makes_the_key_that_s3_proxy_makes(rules, configured, path, method):
    """For all rules, prefixes and requests, both ask S3 for the same key."""
    assert_same_key(rules, configured, path, method)
