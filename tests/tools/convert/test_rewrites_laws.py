"""Compares a model of s3-proxy's rewriting with the converted rules: both must give the same key."""

import re
from typing import NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

from gotemplate.regexp.matching import compile_pattern
from gotemplate.regexp.syntax import PatternError
from gotemplate.template.errors import TemplateMistake
from tornado_proxy.config.model import Bucket
from tornado_proxy.config.values import prefix as as_directory
from tornado_proxy.routing.request import object_key
from tornado_proxy.rules.diagnostic import SourceFile, Span
from tornado_proxy.rules.loading import RuleFile, compile_rule_files
from tornado_proxy.rules.model import InvalidResult, path_objection
from tornado_proxy.rules.tree import Dialect
from tornado_proxy.semantics.request import Request, User
from tornado_proxy.templates import go
from tornado_proxy.templates.template import TargetData, TargetKeyRewriteData, compile_plain
from tornado_proxy.tools.convert.rewrites import KeysAs, RewriteEntry, Surroundings, converted, rule_text

NOWHERE = Span(SourceFile("conf.yaml", "\n"), 0, 0)
ANN = User("ann")


class Rule(NamedTuple):
    """An entry of a `keyRewriteList`."""

    source: str
    target: str
    dialect: Dialect = Dialect.PLAIN


def start_prefix(configured):
    """Returns the text that s3-proxy puts before a path: the prefix with a trailing slash."""
    return configured if not configured or configured.endswith("/") else f"{configured}/"


def s3_proxy_key(rules, configured, path, method):
    """Returns the key that s3-proxy hands to its SDK, and the number of the rule that made it, or None."""
    key = start_prefix(configured) + path.removeprefix("/")
    for number, rule in enumerate(rules):
        pattern = compile_pattern(rule.source)
        captures = pattern.search(key)
        if captures is not None:
            if rule.dialect is Dialect.GO:
                template = go.compile_template(rule.target, pattern.names, pattern.group_count)
            else:
                template = compile_plain(rule.target)
            target = TargetData("site", "bucket", configured)
            data = TargetKeyRewriteData(key, ANN, Request(method), target)
            return template.render(captures, data), number
    return key, None


def converted_rules(rules, configured):
    """Converts rules; returns the conversions and the rule set that is loaded from the written file."""
    entries = [RewriteEntry(rule.source, rule.target, rule.dialect, NOWHERE) for rule in rules]
    conversions = converted(entries, Surroundings(configured, start_prefix(configured)), KeysAs.ACTUAL)
    loaded = compile_rule_files([RuleFile("site.rules", rule_text("site", conversions).encode())])
    assert loaded.diagnostics == ()
    return conversions, loaded.rule_sets["site"]


def assert_same_key(rules, configured, path, method="GET"):
    """Asserts that both request the same key from S3, unless the rule that s3-proxy applies was left out."""
    conversions, rule_set = converted_rules(rules, configured)
    s3_proxy_result, number = s3_proxy_key(rules, configured, path, method)
    if number is not None and conversions[number].is_left_out:
        return
    bucket = Bucket("bucket", as_directory(configured))
    data = TargetKeyRewriteData(f"/{path}", ANN, Request(method), TargetData("site", "bucket", bucket.prefix))
    try:
        converted_key = object_key(bucket, rule_set.apply(data).key)
    except InvalidResult:
        # The report mentions once for all rules that empty results and dot segments are refused here.
        assert s3_proxy_result.strip("/") in ("", configured.strip("/")) or path_objection(f"/{s3_proxy_result}")
        return
    expected = re.sub("/+", "/", s3_proxy_result).lstrip("/")  # s3-proxy's SDK cleans the path
    if path.endswith("/") or not path:
        expected, converted_key = expected.rstrip("/"), converted_key.rstrip("/")
    assert converted_key == expected, (rules, configured, path, conversions, converted_key, expected)


NAMES = st.sampled_from(["a", "b", "f", "ab", "f.a", "x.html"])
PATHS = st.builds(
    lambda names, slash: "/".join(names) + ("/" if slash and names else ""), st.lists(NAMES, max_size=4), st.booleans()
)
PREFIXES = st.sampled_from(["", "f", "f/", "/f", "/", "f/a", "a.b/"])
ATOMS = st.sampled_from(["a", "b", "f", "/", r"\.", ".", r"\w", "[^/]", "[a/]", "x", r"\b", "html", "f/", "/a"])
REPEATS = st.sampled_from(["", "", "", "*", "+", "?", "*?", "{2}"])
WRAPPERS = st.sampled_from(["{}", "{}", "({})", "(?P<one>{})", "(?:{})", "({}|a)", "(?i:{})", "(/{})?"])


def _repeated(atom, repeat):
    return (
        atom
        if atom == r"\b"
        else (f"(?:{atom})" if len(atom) > 1 and not atom.startswith(("\\", "[")) else atom) + repeat
    )


PIECES = st.builds(
    lambda wrapper, atoms: wrapper.format("".join(atoms)),
    WRAPPERS,
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
        "{{/* comment */}}",
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


def _is_valid_rule(rule):
    """Returns whether s3-proxy would start with a rule."""
    try:
        pattern = compile_pattern(rule.source)
        if rule.dialect is Dialect.GO:
            go.compile_template(rule.target, pattern.names, pattern.group_count)
    except (PatternError, TemplateMistake):
        return False
    return True


@given(st.lists(RULES.filter(_is_valid_rule), max_size=3), PREFIXES, PATHS, st.sampled_from(["GET", "DELETE"]))
@example([Rule("^file$", "other")], "", "file", "GET")
@example([Rule("^f/(.*)$", "f/a/$1")], "f", "b/x.html", "GET")
@example([Rule("^docs(.*)$", "new/$1")], "", "docs/a", "GET")
@example([Rule(".*", "all")], "", "a/", "GET")
@example([Rule("", "f$0")], "", "a", "GET")
def test_a_converted_rule_makes_the_key_of_s3_proxy(rules, configured, path, method):
    """For all rules, prefixes and requests, both request the same key from S3."""
    assert_same_key(rules, configured, path, method)
