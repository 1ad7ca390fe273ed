"""What is written in a rule: sources that match more than is meant, and text and names without a meaning there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import groupby, pairwise
from urllib.parse import unquote

from gotemplate.regexp import syntax
from gotemplate.regexp.automaton import guess
from gotemplate.regexp.matching import Pattern, Reference, group_number
from gotemplate.regexp.proofs import NoKey
from tornado_proxy.lint.check import Category, LintFinding, check, inserted, listed, offer, reworded, shown
from tornado_proxy.lint.shapes import bare, edge_part, open_end, open_start
from tornado_proxy.lint.subject import UNALLOWABLE, Allowance, Subject, TargetRules, without
from tornado_proxy.rules.diagnostic import Edit, Safety, Severity, Span, did_you_mean
from tornado_proxy.rules.loading import unknown_targets
from tornado_proxy.rules.model import Rewrite
from tornado_proxy.rules.recovery import undelimited
from tornado_proxy.rules.tree import Dialect, Literal, RuleKind

_MATCHES = {
    (True, True): "the source matches anywhere in a key",
    (True, False): "the source matches at any depth",
    (False, True): "the source matches with anything behind it",
}
_ADVICE = {
    (True, True): "begin it with `^` and end it with `$`",
    (True, False): "begin it with `^`, or with `^.*` where any depth is meant",
    (False, True): "end it with `$`, or with `.*` where anything may follow",
}


@check(Category.DOUBTS, Severity.WARNING)
def unanchored_source(subject: Subject) -> Iterator[LintFinding]:
    """A source without anchors, which matches more keys than its author probably means."""
    for rewrite, target in subject.rewrites:
        tree = target.source(rewrite).tree
        if tree is None:
            continue
        start, end = ends = open_start(tree), open_end(tree)
        if not (start or end) or isinstance(target.reach(rewrite), NoKey):
            continue
        source, meant = rewrite.statement.source, undelimited(rewrite.pattern.text)
        if meant is not None:
            message = "the slashes around this are part of the source, which matches anywhere in a key"
            yield LintFinding(message, source.span, f"write `{meant}`")
            continue
        wrapped = isinstance(tree, syntax.Alternation)
        opening = ("^" if start else "") + ("(?:" if wrapped else "")
        closing = (")" if wrapped else "") + ("$" if end else "")
        places = ((0, opening), (len(source.value), closing))
        edits = tuple(edit for at, text in places if text for edit in inserted(source, at, text))
        key = guess(tree)
        example = f"{'/x' if start else ''}{key or ''}{'x' if end else ''}"  # which the author hardly meant
        is_matched = key is not None and rewrite.pattern.search(example)
        message = _MATCHES[ends] + (f", such as {shown(example)}" if is_matched else "")
        yield LintFinding(message, source.span, _ADVICE[ends], fixes=offer("anchor it", edits))


@check(Category.DOUBTS, Severity.WARNING)
def unescaped_dot(subject: Subject) -> Iterator[LintFinding]:
    """A `.` that matches any character, where a dot is probably meant."""
    for rewrite, tree in subject.sources:
        source = rewrite.statement.source
        written = "`\\.`" if source.raw else "`\\\\.`"
        advice = f"write {written} for a dot, `[^/]` for any character of a name"
        for dot in _dots(tree):
            fixes = offer("escape the dot", inserted(source, dot.extent.start, "\\"))
            yield LintFinding("`.` matches any character", source.at(*dot.extent), advice, fixes=fixes)


def _dots(tree: syntax.Node) -> Iterator[syntax.AnyCharacter]:
    """Yields each `.` that stands alone before what is a word."""
    for node in syntax.walk(tree):
        pieces = node.pieces if isinstance(node, syntax.Sequence) else ()
        for before, (part, behind) in zip((None, *pieces), pairwise(pieces), strict=False):
            is_alone = not isinstance(before, syntax.AnyCharacter)
            if isinstance(part, syntax.AnyCharacter) and is_alone and _begins_a_word(behind):
                yield part


def _begins_a_word(node: syntax.Node) -> bool:
    """Returns whether the first character of a part is a certain letter or digit, in each of its branches."""
    first = edge_part(node, last=False)
    if isinstance(first, syntax.Alternation):
        return all(_begins_a_word(branch) for branch in first.branches)
    return isinstance(first, syntax.Text) and first.characters[0].isalnum()


# Places where a template may use groups, named by a literal or not; in a plain one, as in another dialect.
_MENTIONS = {
    Dialect.PLAIN: re.compile(r"\{\{"),
    Dialect.JINJA: re.compile(r"\bgroups\b"),
    Dialect.GO: re.compile(r"\.Groups\b|\{\{-?\s*(?:\$|\.)\s*-?\}\}"),
}

# Places where a template uses the whole key, which has all captured text, or the path that contains it.
_WHOLE = {
    Dialect.JINJA: re.compile(r"\{[{%][^}]*?(?<![.\w])(?:key|request\s*\.\s*path)\b"),
    Dialect.GO: re.compile(r"\{\{[^}]*?\.(?:Key|Path|EscapedPath|RequestURI)\b"),
}


def has_group(pattern: Pattern, reference: str) -> bool:
    """Returns whether a source has the group that a plain template refers to."""
    number = group_number(reference)
    return reference in pattern.names if number is None else number <= pattern.group_count


# Unambiguous slips first, then text that is a slip only if there is such a group; `$$` is a dollar.
_IN_PLAIN = re.compile(
    r"\$\$|\\(?:([0-9])|[gk]<(\w+)>)|\$\{(\w+)(?![\w}])|\$(&)"
    r"|\$\((?P<round>\w+)\)|\{(?<![{$]\{)(?P<curly>\w+)\}(?!\})|%(?P<percent>[1-9])(?![0-9A-Fa-f])"
)
# In other dialects plain references are slips; those within braces are variables of the dialect, or text.
_IN_OTHERS = re.compile(
    r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|\$\$"
    r"|\\(?:(?P<number>[1-9])|[gk]<(?P<called>\w+)>)|\$\{(?P<braced>\w+)\}|\$(?P<bare>\w+)",
    re.DOTALL,
)
_NAMED = {"&": "0"}
_REFERENCES = {
    Dialect.PLAIN: ("${{{}}}", "${{{}}}"),
    Dialect.JINJA: ("{{{{ groups[{}] }}}}", "{{{{ groups.{} }}}}"),
    Dialect.GO: ('{{{{ index .Groups "{}" }}}}', "{{{{ .Groups.{} }}}}"),
}
"""The forms in which each dialect refers to a group: by its number, and by its name."""


def slips(rewrite: Rewrite) -> Iterator[Reference]:
    """Yields texts that were meant as references to groups but are not; ambiguous ones only if the group exists."""
    expression = _IN_PLAIN if rewrite.dialect is Dialect.PLAIN else _IN_OTHERS
    for reference in expression.finditer(rewrite.template.text):
        if reference.lastindex is not None:
            group = _NAMED.get(reference[reference.lastindex], reference[reference.lastindex])
            if reference.lastgroup is None or has_group(rewrite.pattern, group):
                yield group, *reference.span()


def reference(group: str, dialect: Dialect) -> str:
    """Returns a reference to a group, as a dialect writes it."""
    by_number, by_name = _REFERENCES[dialect]
    return (by_name if group_number(group) is None else by_number).format(group)


@check(Category.MISTAKES, Severity.ERROR)
def unknown_group(subject: Subject) -> Iterator[LintFinding]:
    """A reference to a group that the source does not have."""
    reported = {each.span for each in subject.mistakes}
    for rewrite, _ in subject.rewrites:
        for name, start, end in rewrite.template.group_references:
            if not has_group(rewrite.pattern, name):
                yield _unknown(rewrite, name, start, end)
        for name, start, end in slips(rewrite):
            written = rewrite.template.text[start:end]
            message = f"`{written}` is text here, not a reference to a group"
            exists = has_group(rewrite.pattern, name)
            meant = reference(name, rewrite.dialect) if exists else ""
            advice = f"write `{meant}`" if exists else _groups_of(rewrite.pattern)
            finding = _misreference(rewrite, (start, end), message, advice, meant)
            if finding.span not in reported:  # as a bad escape
                yield finding


def _unknown(rewrite: Rewrite, name: str, start: int, end: int) -> LintFinding:
    pattern = rewrite.pattern
    shorter = next((name[:length] for length in range(len(name) - 1, 0, -1) if has_group(pattern, name[:length])), None)
    if shorter is not None and rewrite.template.text[start : start + 2] != "${":
        meant = f"${{{shorter}}}{name[len(shorter) :]}"
        message = f"`${name}` refers to the group `{name}`, which the source does not have"
        return _misreference(rewrite, (start, end), message, f"write `{meant}`", meant)
    near = did_you_mean(name, pattern.names)
    meant = f"${{{near}}}" if near else ""
    advice = f"did you mean `{meant}`?" if near else _groups_of(pattern)
    message = f"the source has no group `{name}`, so this is always empty"
    return _misreference(rewrite, (start, end), message, advice, meant)


def _groups_of(pattern: Pattern) -> str:
    names = [f"`{name}`" for name in pattern.names] or [f"`{n}`" for n in range(1, pattern.group_count + 1)]
    if not names:
        return "the source has no group: capture the part that you want to keep with `(?P<name>…)`"
    return f"the source has the group{'s' if len(names) > 1 else ''} {listed(names)}"


def _misreference(rewrite: Rewrite, place: tuple[int, int], message: str, advice: str, meant: str) -> LintFinding:
    """Returns a finding about a part of a template, with a fix if it is known what was `meant`."""
    literal = rewrite.statement.template
    fixes = offer(f"write `{meant}`", reworded(literal, *place, meant)) if meant else ()
    return LintFinding(message, literal.at(*place), advice, fixes=fixes)


@check(Category.DOUBTS, Severity.WARNING)
def unused_group(subject: Subject) -> Iterator[LintFinding]:
    """A group that captures what the template never uses."""
    for rewrite, tree in subject.sources:
        if rewrite.kind is RuleKind.GONE:
            continue
        # Only where the template uses groups by name alone, and only groups that exist.
        text, references = rewrite.template.text, rewrite.template.group_references
        uses_key = rewrite.dialect in _WHOLE and _WHOLE[rewrite.dialect].search(text)
        if uses_key or len(_MENTIONS[rewrite.dialect].findall(text)) > len(references):
            continue
        used = {name for name, _, _ in references}
        unused = [*_unused_groups(tree, used)] if all(has_group(rewrite.pattern, name) for name in used) else []
        if not unused or next(slips(rewrite), None) is not None:
            continue
        repeated = {id(node.body) for node in syntax.walk(tree) if isinstance(node, syntax.Repeat)}
        for group in unused:
            holds_together = id(group) in repeated or isinstance(bare(group), syntax.Alternation)
            if group.name or not holds_together:
                source = rewrite.statement.source
                opening = f"(?P<{group.name}>" if group.name else "("
                start, end = group.extent
                if group.name and not source.value.startswith(opening, start):
                    opening = f"(?<{group.name}>"
                safe = rewrite.dialect is Dialect.PLAIN and not any(map(group_number, used))
                edits = reworded(source, start, start + len(opening), "(?:")
                fixes = offer("capture nothing", edits, Safety.SAFE if safe else Safety.UNSAFE)
                message = f"the template never uses group {f'`{group.name}`' if group.name else group.number}"
                advice = "use it, or write `(?:…)`, which captures nothing, if keys that differ in it should become one"
                yield LintFinding(message, source.at(start, end), advice, fixes=fixes)


def _unused_groups(tree: syntax.Node, used: Collection[str]) -> Iterator[syntax.Group]:
    """Yields the capturing groups that are neither used nor part of a group that is."""
    if "0" in used:
        return
    waiting: list[syntax.Node | syntax.Member] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, syntax.Group) and node.number is not None:
            if str(node.number) in used or node.name in used:
                continue
            yield node
        waiting.extend(reversed(syntax.children(node)))


_ENCODED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_QUERY_IN_SOURCE = re.compile(r"(?:\\\?|\[\?\])[\w.-]+=")
_QUERY_IN_TEXT = re.compile(r"\?[\w.-]+=")
_HOLE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_GO = re.compile(r"\{\{-?\s*(?:\.|\$|end\b|else\b|(?:if|with|range|printf|template|define)\b)|\{\{[^}]*\s\.[A-Z]")


@check(Category.MISTAKES, Severity.WARNING)
def percent_encoding(subject: Subject) -> Iterator[LintFinding]:
    """Percent-encoding in a rule: keys are decoded before the rules see them."""
    for target in subject.targets:
        for literal, is_source in _literals(target):
            for escape in _ENCODED.finditer(literal.value) if "%" in literal.value else ():
                decoded = unquote(escape[0])
                readable = decoded.isprintable() and "\N{REPLACEMENT CHARACTER}" not in decoded
                meant = re.escape(decoded) if is_source and not decoded.isspace() else decoded
                fixes = offer("decode it", reworded(literal, *escape.span(), meant)) if readable else ()
                written = "a space" if decoded == " " else f"`{meant}`"
                advice = f"write {written}" if readable else "remove it: no key contains such a character"
                message = f"`{escape[0]}` is literal text here: keys are already decoded"
                yield LintFinding(message, literal.at(*escape.span()), advice, fixes=fixes)


def _literals(target: TargetRules) -> Iterator[tuple[Literal, bool]]:
    """Yields strings, each with whether it is a source."""
    for rewrite in target.rewrites:
        yield rewrite.statement.source, True
        if rewrite.dialect is Dialect.PLAIN and rewrite.kind is RuleKind.REWRITE:
            yield rewrite.statement.template, False
    for test in target.rule_set.tests:
        yield test.statement.key, False
        if isinstance(test.statement.expected, Literal):
            yield test.statement.expected, False


@check(Category.MISTAKES, Severity.WARNING)
def query_in_rule(subject: Subject) -> Iterator[LintFinding]:
    """A query in a rule: keys have none."""
    for target in subject.targets:
        keys = (test.statement.key for test in target.rule_set.tests)
        in_tests = ((key, query) for key in keys for query in _QUERY_IN_TEXT.finditer(key.value))
        in_rewrites: list[tuple[Literal, re.Match[str]]] = []
        for rewrite in target.rewrites:
            source, template = rewrite.statement.source, rewrite.statement.template
            in_rewrites += ((source, query) for query in _QUERY_IN_SOURCE.finditer(source.value))
            if rewrite.dialect is Dialect.PLAIN and rewrite.kind is RuleKind.REWRITE:
                in_rewrites += ((template, query) for query in _QUERY_IN_TEXT.finditer(template.value))
        for literal, query in in_rewrites or in_tests:
            message = f"`{query[0]}` looks like a query, but keys have none"
            advice = "write the path alone; a `jinja` or `go` template can read the query"
            yield LintFinding(message, literal.at(*query.span()), advice)


@check(Category.MISTAKES, Severity.WARNING)
def missing_dialect(subject: Subject) -> Iterator[LintFinding]:
    """A plain template that looks like one of another dialect."""
    for rewrite, _ in subject.rewrites:
        hole = _HOLE.search(rewrite.template.text) if rewrite.dialect is Dialect.PLAIN else None
        if hole is None:
            continue
        literal = rewrite.statement.template
        meant, group = ("go", ".Groups.name") if _GO.search(rewrite.template.text) else ("jinja", "groups.name")
        refers = bool(rewrite.template.group_references)
        advice = f"write `{meant}` before the template" + (f", and `{group}` for a group" if refers else "")
        here = Span(literal.span.source, literal.span.start, literal.span.start)
        fixes = offer(f"write `{meant}`", () if refers else (Edit(here, f"{meant} "),))
        message = f"`{hole[0]}` is plain text here, and becomes part of the result"
        yield LintFinding(message, literal.at(*hole.span()), advice, fixes=fixes)


@check(Category.MISTAKES, Severity.ERROR, needs_configuration=True)
def unknown_target(subject: Subject) -> Iterator[LintFinding]:
    """A block of a target that the configuration does not name."""
    if subject.settings is not None:
        for each in unknown_targets(subject.documents, [target.name for target in subject.settings.targets]):
            yield LintFinding(each.message, each.span, each.help or "", fixes=each.fixes)


@check(Category.UPKEEP, Severity.WARNING)
def unused_allowance(subject: Subject) -> Iterator[LintFinding]:
    """An allowance that silences nothing, or that names no check."""
    check_names = subject.allowances.check_names
    for each in subject.allowances.unknown():
        meant = did_you_mean(each.name, check_names)
        advice = f"did you mean `{meant}`?" if meant else "`tornado-proxy lint --list` shows all checks"
        fixes = offer(f"write `{meant}`", (Edit(each.span, meant),)) if meant else ()
        yield LintFinding(f"unknown check `{each.name}`", each.span, advice, fixes=fixes)
    for comment in subject.allowances.empty:
        advice = "name the checks that are allowed: `# allow: a-check (reason)`"
        yield LintFinding("this allowance names no check", comment.span, advice)
    if subject.whole:
        for comment, allowances in groupby(subject.allowances.unused(), key=lambda each: each.comment):
            unused = tuple(allowances)
            # The text is empty where the tree was not read from a file.
            edits = (without(comment, unused),) if comment.span.text else ()
            # Edits of single names would touch one another, so that one run could apply only one of them.
            title = "remove it" if len(unused) == 1 else "remove all names that are not needed here"
            fixes = offer(title, edits, Safety.SAFE)
            for each in unused:
                yield LintFinding(_why_unused(each), each.span, "remove it", fixes=fixes)


def _why_unused(allowance: Allowance) -> str:
    if allowance.name == UNALLOWABLE:
        return f"`{allowance.name}` cannot be allowed"
    if allowance.covers is None:
        return f"this allows `{allowance.name}` for nothing: no statement or block follows"
    return f"this allows `{allowance.name}`, which finds nothing here"
