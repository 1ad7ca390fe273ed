"""Checks of results that are always refused, lack their leading slash, or are of the wrong kind, and of their tests."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gotemplate.regexp.automaton import Automaton, Budget, bits, language
from gotemplate.regexp.classes import contains
from gotemplate.regexp.proofs import Example, overlap
from gotemplate.regexp.syntax import Alternation, Group, Node, Text, walk
from gotemplate.template.text import GO_SPACES
from tornado_proxy.config.model import Target
from tornado_proxy.lint.check import Category, LintFinding, check, inserted, offer, reworded, shown
from tornado_proxy.lint.limits import KIND_STEPS, LONGEST_COPIED_TEST
from tornado_proxy.lint.shapes import certain, constant, edge_part, ends_anchored, head, is_address, open_end, tail
from tornado_proxy.lint.subject import Subject, TargetRules, place_of_result
from tornado_proxy.rules.diagnostic import Edit, Safety, Severity
from tornado_proxy.rules.expectations import expectation, failure
from tornado_proxy.rules.loading import bad_location
from tornado_proxy.rules.model import (
    AddressList,
    Counted,
    ListedAddress,
    Rewrite,
    objection,
    path_objection,
)
from tornado_proxy.rules.tree import Dialect, Literal, RuleKind, TestStatement, Verdict, expected_text, string_text
from tornado_proxy.templates.template import PlainTemplate

_ERROR_HELP = "write the key of the object to serve; where refusing is meant, add a test that expects `error`"
_SLASH_HELP = "begin it with `/`"

_FILES, _DIRECTORIES = language("[^/]$"), language("/$")
# The last segment of a file's key, by its extension.
_FILE_NAME = re.compile(r"[^/]\.[A-Za-z0-9]{1,8}$")


@check(Category.MISTAKES, Severity.ERROR)
def refused_result(subject: Subject) -> Iterator[LintFinding]:
    """A template whose result is always refused."""
    for rewrite, target, _ in subject.rewrites:
        text = constant(rewrite) if rewrite.kind is RuleKind.REWRITE else None
        if text is None:  # of a redirect, the compiler refuses what is wrong up to the first hole
            reason = _certain_fault(rewrite)
        else:
            reason = objection(text if text.startswith("/") else f"/{text}") if text else "is empty"
        tests = target.tested.get(rewrite.number, ())
        if reason is not None and all(each.test.expected is not Verdict.ERROR for each in tests):
            message = f"the result is always refused: it {reason}"
            yield LintFinding(message, rewrite.statement.template.span, _ERROR_HELP)


def _certain_fault(rewrite: Rewrite) -> str | None:
    """Returns why no result of a plain template can be a path with or without a query; None if one may be."""
    if not isinstance(rewrite.template, PlainTemplate):
        return None
    # A fault of the text with `x` for each group is a fault of every result.
    holes = "".join(f"x{following}" for _, following in rewrite.template.holes)
    text = f"/{rewrite.template.opening}{holes}"
    return path_objection(re.split("[?#]", text)[0] if rewrite.kind is RuleKind.REDIRECT else text)


@check(Category.DOUBTS, Severity.WARNING)
def relative_result(subject: Subject) -> Iterator[LintFinding]:
    """A template whose result has no leading slash."""
    for rewrite, target, index in subject.rewrites:
        beginning, tree = head(rewrite), target.languages[index].tree
        if rewrite.kind is RuleKind.REDIRECT and is_address(beginning):
            continue
        if beginning and not beginning.startswith("/"):
            yield _relative(rewrite, beginning)
        elif not beginning and tree is not None and _begins_with_relative_group(rewrite, tree):
            yield _relative(rewrite, rewrite.template.text[: rewrite.template.group_references[0][2]])


def _begins_with_relative_group(rewrite: Rewrite, source: Node) -> bool:
    """Returns whether a plain template begins with a group that always matches text that does not begin with `/`."""
    references = rewrite.template.group_references
    if rewrite.dialect is not Dialect.PLAIN or not references or references[0][1] > 0:
        return False
    numbered = (each for each in walk(source) if isinstance(each, Group) and each.number is not None)
    groups = [each for each in numbered if references[0][0] in (str(each.number), each.name)]
    if len(groups) != 1 or groups[0] not in certain(source):
        return False
    automaton = Automaton(groups[0].body)  # a source that was compiled is never too large for one
    whole = automaton.table(0).whole
    first = [automaton.sets[position] for position in bits(whole.first)]
    # With assertions inside, other characters may come first.
    is_exact = not automaton.assertions and not whole.nullable
    return is_exact and not any(contains(each, ord("/")) for each in first)


def _relative(rewrite: Rewrite, beginning: str) -> LintFinding:
    template = rewrite.statement.template
    start = len(template.value) - len(template.value.lstrip(GO_SPACES))
    if start and rewrite.dialect is Dialect.PLAIN:  # only other dialects trim it
        slash = "" if template.value.startswith(("/", "$"), start) else "/"
        fixes = offer("remove the white space", reworded(template, 0, start, slash))
        message = "the result begins with white space, which a plain template keeps, and gets a slash before it"
        return LintFinding(message, template.at(0, start), _SLASH_HELP, fixes=fixes)
    span = template.at(start, start + len(beginning))
    if is_address(beginning):
        message = f"a result is a key, not a URL: this asks the bucket for `/{beginning}…`"
        word = rewrite.span.part(0, len("rewrite"))
        leads = word.text == "rewrite" and not bad_location(rewrite.statement)
        fixes = offer("write `redirect`", (Edit(word, "redirect"),) if leads else ())
        return LintFinding(message, span, "write `redirect` where clients are to be sent there", fixes=fixes)
    fixes = offer("write the slash", inserted(template, start, "/"), Safety.SAFE)
    return LintFinding("the result has no leading slash, and gets one", span, _SLASH_HELP, fixes=fixes)


@check(Category.DOUBTS, Severity.WARNING)
def kind_change(subject: Subject) -> Iterator[LintFinding]:
    """A rewrite that turns a file into a directory, or a directory into a file."""
    for target in subject.targets:
        budget = Budget(KIND_STEPS)
        for index, source in enumerate(target.languages):
            rewrite = target.rewrites[index]
            ending = "" if is_address(head(rewrite)) else tail(rewrite)
            # A source with an open end has a finding of its own, and this one may go with it.
            if rewrite.kind is not RuleKind.REWRITE or source.tree is None or open_end(source.tree):
                continue
            files = ending.endswith("/")
            # A quick look, not a proof.
            last = edge_part(source.tree, last=True) if ends_anchored(source.tree) else None
            is_of_files = last is not None and not _may_be_a_slash(last)
            # A source of directories alone always has a text before an extension that follows a hole.
            before = "x" if isinstance(last, Text) and last.characters.endswith("/") else ""
            if not files and (is_of_files or not _FILE_NAME.search(before + ending)):
                continue
            key = _taken(target, index, budget, files=files)
            # Where `tryFiles` tries the key without its slash, the rewrite may be meant for that.
            if key is not None and not (target.tries_paths and target.taker(key.removesuffix("/")) == index):
                result = target.result(key)
                message = _changes(key, "another key" if result is None else shown(result))
                advice, superfluous = _other_kind(target.configured, ending)
                template = rewrite.statement.template
                cut = len(template.value) - len(superfluous)
                edits = reworded(template, cut, len(template.value), "") if template.value[cut:] == superfluous else ()
                fixes = offer(f"remove `{superfluous}`", edits) if superfluous else ()
                yield LintFinding(message, template.span, advice, fixes=fixes)
        for line, address, becomes in _lines_of_another_kind(target):
            advice, _ = _other_kind(target.configured, line.result_text)
            yield LintFinding(_changes(address, shown(becomes)), place_of_result(line), advice)


def _changes(key: str, becomes: str) -> str:
    kind, still = ("directory", "still ") if key.endswith("/") else ("file", "")
    return f"the {kind} {shown(key)} becomes {becomes}, which is {still}a directory"


def _lines_of_another_kind(target: TargetRules) -> Iterator[tuple[ListedAddress, str, str]]:
    """Yields the lines of rewrites that lead from a file to a directory or back, with address and result."""
    for each in target.rule_set.lists:
        for address, line in each if each.kind is RuleKind.REWRITE else ():
            result = line.result_text
            if address.endswith("/") == result.endswith("/") or (
                address.endswith("/") and not _FILE_NAME.search(result)
            ):
                continue
            if not (target.tries_paths and each.find(address.removesuffix("/"))):
                yield line, address, result if result.endswith("/") else f"{result}/"


def _other_kind(configured: Target | None, ending: str) -> tuple[str, str]:
    """Returns how a result of the other kind is written, and what may be removed from the end of the template."""
    if ending.endswith("/"):
        return "remove the last `/` of the result, or end the source with `/$`", "/"
    index = configured.actions.get.index_document if configured else ""
    if index and ending.endswith(f"/{index}"):
        return f"end it with `/`: the target serves the `{index}` of a directory", index
    document = f"`{index}` is served" if index else "index document the target names"
    return f"lead to a directory, whose {document}, or end the source with `/?$` and add `tryFiles`", ""


def _may_be_a_slash(last: Node | None) -> bool:
    if isinstance(last, Alternation):
        return any(_may_be_a_slash(edge_part(branch, last=True)) for branch in last.branches)
    return not isinstance(last, Text) or last.characters.endswith("/")


def _taken(target: TargetRules, index: int, budget: Budget, *, files: bool) -> str | None:
    """Returns a key of a kind that a rewrite takes."""
    example = target.example(index)
    for guessed in (example, f"{example}{'a' if files else '/'}") if example else ():
        if guessed.endswith("/") is not files and target.taker(guessed) == index and not objection(guessed):
            return guessed
    kind = _FILES if files else _DIRECTORIES
    answer = overlap(target.languages[index], kind, budget.portion())
    return answer.key if isinstance(answer, Example) and target.taker(answer.key) == index else None


@check(Category.TESTS, Severity.ERROR)
def failing_test(subject: Subject) -> Iterator[LintFinding]:
    """A test that fails."""
    if subject.whole:
        for target in subject.targets:
            for outcome in target.outcomes:
                if not outcome.passed:
                    said = failure(outcome)
                    yield LintFinding(said.message, said.span, said.help or "", said.notes, said.fixes)


@check(Category.TESTS, Severity.INFO)
def untested_rewrite(subject: Subject) -> Iterator[LintFinding]:
    """A rewrite that no test reaches."""
    if not subject.whole:
        return
    for target in subject.targets:
        if any(isinstance(each, TestStatement) for block in target.blocks for each in block.statements):
            for each in target.rule_set.counted:
                if each.number not in target.tested and not target.is_dead(each):
                    yield _unreached(each, _suggestion(target, each))
        else:
            counted = target.rule_set.counted
            untested = ((each, untested_rewrite.diagnostic(_unreached(each))) for each in counted)
            asked = [each for each, finding in untested if not subject.allowances.silence(finding)]
            if asked:
                message = f"the target `{target.name}` has no test"
                yield LintFinding(message, target.blocks[0].name.span, _suggestion(target, asked[0]))


def _unreached(each: Counted, advice: str = "") -> LintFinding:
    if isinstance(each, AddressList):
        return LintFinding("no test reaches this list", each.statement.file.span, advice)
    word = "`gone`" if each.kind is RuleKind.GONE else each.kind.value
    return LintFinding(f"no test reaches this {word}", each.statement.source.span, advice)


def _suggestion(target: TargetRules, of: Counted) -> str:
    """Returns a test that passes now, as help."""
    key = target.known_key(of)
    got = None if key is None else target.applied(key)
    if key is None or got is None:
        return "add a `test` of a key that it takes"
    result, span = expected_text(expectation(got, of.span)), of.span
    if len(key + result) > LONGEST_COPIED_TEST:
        return "add a `test` of a key that it takes"
    return f"add a test of a real key, such as `test {string_text(Literal(key, span))} -> {result}`"
