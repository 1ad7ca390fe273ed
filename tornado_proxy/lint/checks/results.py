"""Checks of results: refused, relative, of another kind, without a value, or chosen by clients; and of their tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from gotemplate.regexp.automaton import Automaton, Budget, bits, language
from gotemplate.regexp.classes import contains
from gotemplate.regexp.proofs import Example, overlap
from gotemplate.regexp.syntax import Alternation, Group, Node, Text, walk
from gotemplate.template.text import GO_SPACES
from tornado_proxy.config.model import Target
from tornado_proxy.lint.check import Category, LintFinding, check, inserted, offer, reworded, shown
from tornado_proxy.lint.limits import KIND_STEPS, LONGEST_COPIED_TEST, MOST_NAMES_TRIED, OPEN_PATH_STEPS
from tornado_proxy.lint.shapes import certain, constant, edge_part, ends_anchored, head, is_address, open_end, tail
from tornado_proxy.lint.subject import Subject, TargetRules, place_of_result
from tornado_proxy.routing.access import Access, Anyone, path_expression
from tornado_proxy.rules import model
from tornado_proxy.rules.diagnostic import Edit, Safety, Severity
from tornado_proxy.rules.expectations import expectation, failure
from tornado_proxy.rules.loading import bad_location
from tornado_proxy.rules.tree import Dialect, Literal, RuleKind, TestStatement, Verdict, expected_text, string_text
from tornado_proxy.semantics.request import Request, RequestPath, User
from tornado_proxy.templates.template import PlainTemplate, TargetKeyRewriteData

_ERROR_HELP = "write the key of the object to serve; where refusing is meant, add a test that expects `error`"
_SLASH_HELP = "begin it with `/`"

_FILES, _DIRECTORIES = language("[^/]$"), language("/$")
# The last segment of a file's key, by its extension.
_FILE_NAME = re.compile(r"[^/]\.[A-Za-z0-9]{1,8}$")


@check(Category.MISTAKES, Severity.ERROR)
def refused_result(subject: Subject) -> Iterator[LintFinding]:
    """A template whose result is always refused."""
    for rewrite, target in subject.rewrites:
        text = constant(rewrite) if rewrite.kind is RuleKind.REWRITE else None
        if text is None:  # of a redirect, the compiler refuses what is wrong up to the first hole; `gone` has no result
            reason = _certain_fault(rewrite)
        else:
            reason = model.objection(text if text.startswith("/") else f"/{text}") if text else "is empty"
        tests = target.tested.get(rewrite.number, ())
        if reason is not None and all(each.test.expected is not Verdict.ERROR for each in tests):
            message = f"the result is always refused: it {reason}"
            yield LintFinding(message, rewrite.statement.template.span, _ERROR_HELP)


def _certain_fault(rewrite: model.Rewrite) -> str | None:
    """Returns why no result of a plain template can be a path with or without a query; None if one may be."""
    if not isinstance(rewrite.template, PlainTemplate):
        return None
    # A fault of the text with `x` for each group is a fault of every result.
    holes = "".join(f"x{following}" for _, following in rewrite.template.holes)
    text = f"/{rewrite.template.opening}{holes}"
    return model.path_objection(re.split("[?#]", text)[0] if rewrite.kind is RuleKind.REDIRECT else text)


@check(Category.DOUBTS, Severity.WARNING)
def relative_result(subject: Subject) -> Iterator[LintFinding]:
    """A template whose result has no leading slash."""
    for rewrite, target in subject.rewrites:
        beginning, tree = head(rewrite), target.source(rewrite).tree
        if rewrite.kind is RuleKind.REDIRECT and is_address(beginning):
            continue
        if beginning and not beginning.startswith("/"):
            yield _relative(rewrite, beginning)
        elif not beginning and tree is not None and _begins_with_relative_group(rewrite, tree):
            yield _relative(rewrite, rewrite.template.text[: rewrite.template.group_references[0][2]])


def _begins_with_relative_group(rewrite: model.Rewrite, source: Node) -> bool:
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


def _relative(rewrite: model.Rewrite, beginning: str) -> LintFinding:
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
        for rewrite in target.rewrites:
            source = target.source(rewrite)
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
            key = _taken(target, rewrite, budget, files=files)
            # Where `tryFiles` tries the key without its slash, the rewrite may be meant for that.
            if key is not None and not (target.tries_paths and target.rule_set.taker(key.removesuffix("/")) is rewrite):
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


def _lines_of_another_kind(target: TargetRules) -> Iterator[tuple[model.ListedAddress, str, str]]:
    """Yields the lines of rewrites that lead from a file to a directory or back, with address and result."""
    for each in target.rule_set.lists:
        for address, line in each if each.kind is RuleKind.REWRITE else ():
            result, is_directory = line.result_text, address.endswith("/")
            if is_directory == result.endswith("/") or (is_directory and not _FILE_NAME.search(result)):
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


def _taken(target: TargetRules, rewrite: model.Rewrite, budget: Budget, *, files: bool) -> str | None:
    """Returns a key of a kind that a rewrite takes."""
    example, taker = target.example(rewrite), target.rule_set.taker
    for guessed in (example, f"{example}{'a' if files else '/'}") if example else ():
        if guessed.endswith("/") is not files and taker(guessed) is rewrite and not model.objection(guessed):
            return guessed
    kind = _FILES if files else _DIRECTORIES
    answer = overlap(target.source(rewrite), kind, budget.portion())
    return answer.key if isinstance(answer, Example) and taker(answer.key) is rewrite else None


@check(Category.SECURITY, Severity.WARNING, needs_configuration=True)
def missing_user(subject: Subject) -> Iterator[LintFinding]:
    """A template that reads the user, on a path that needs no sign-in."""
    budget = Budget(OPEN_PATH_STEPS)
    for rewrite, target in subject.rewrites:
        for request in islice(_refused(target, rewrite, budget), 1):
            fact = f"this reads the user, but {shown(request)} needs no sign-in"
            advice = "protect the path with a resource that names a provider, or ask `if user` first"
            message = f"{fact}: without a user it is refused with 403"
            yield LintFinding(message, rewrite.statement.template.span, advice)


def _refused(target: TargetRules, rewrite: model.Rewrite, budget: Budget) -> Iterator[str]:
    """Yields requests that need no sign-in and fail without a user, as `GET /path`."""
    configured = target.configured
    if configured is None or not rewrite.template.reads_user:
        return
    access = Access(configured.resources)
    for mount, key in _candidates(target, configured, rewrite, budget):
        path = mount + key
        open_to = (m for m in configured.actions.methods if isinstance(access.guard(RequestPath(path), m), Anyone))
        for method in open_to:
            if target.rule_set.taker(key) is not rewrite:
                continue
            try:
                request = Request(method, path=RequestPath(path))
                target.rule_set.apply(TargetKeyRewriteData(key, None, request, target.data))
            except model.RewriteError as error:
                if isinstance(error, model.UserRequired):  # an error that has no other reason
                    yield f"{method} {path}"


def _candidates(
    target: TargetRules, configured: Target, rewrite: model.Rewrite, budget: Budget
) -> Iterator[tuple[str, str]]:
    """Yields mounts, without their last slash, and keys below them that the rewrite may take."""
    keys = [target.example(rewrite), *(test.key for test in target.rule_set.tests)]
    open_globs = [resource.path for resource in configured.resources if resource.white_list]
    text = rewrite.pattern.text
    is_anchored = text.startswith("^") and "|" not in text
    for mount in (path.rstrip("/") for path in configured.mount.paths):
        yield from ((mount, key) for key in keys if key)
        for glob in open_globs if is_anchored else ():
            paths = language(f"^{re.escape(mount)}{text[1:]}")
            answer = overlap(paths, language(path_expression(glob)), budget.portion())
            if isinstance(answer, Example):
                yield mount, answer.key[len(mount) :]


@check(Category.SECURITY, Severity.WARNING)
def missing_value(subject: Subject) -> Iterator[LintFinding]:
    """A template that reads a header or a query parameter, and fails for clients that send none."""
    for rewrite, target in subject.rewrites:
        tests = target.tested.get(rewrite.number, ())
        if rewrite.dialect is Dialect.PLAIN or any(isinstance(each.got, model.ValueRequired) for each in tests):
            continue  # such a test says that it is meant
        if (key := target.example(rewrite)) is None:
            continue
        for user in (None, _MEMBER):
            try:
                target.rule_set.apply(TargetKeyRewriteData(key, user, Request(path=RequestPath(key)), target.data))
            except model.ValueRequired as reason:
                message = f"{shown(key)} is refused with 400 if the client sends no value: {reason}"
                yield LintFinding(message, rewrite.statement.template.span, _DEFAULTS[rewrite.dialect])
                break
            except model.RewriteError:
                continue


_MEANT = "where refusing is meant, add a test that expects `error`"
_DEFAULTS = {
    Dialect.JINJA: f"write a default, such as `request.headers['x-team']|default('none')`; {_MEANT}",
    Dialect.GO: f'read it by `.Get "name"`, which is empty without one; {_MEANT}',
}


_MEMBER = User("ann", email="ann@example.com", groups=("staff",), name="Ann", given_name="Ann", family_name="Lee")
_VALUE = "x/probe/value/y"
_INSERTED = "probe/value"
_QUOTED_OR_FIELD = re.compile(r"(?<=[\"'.])[A-Za-z][\w-]*")  # what may be the name of a header or of a query value
_HEADERS, _QUERY = re.compile(r"(?i)header|referer|useragent"), re.compile(r"(?i)query|formvalue|requesturi")
_EMAIL, _GROUPS = re.compile(r"(?i)(?:get)?email\b"), re.compile(r"(?i)(?:user\W{1,2}|get)groups\b")
_NAMES = re.compile(r"(?i)(?:user\W{1,2}|get|given_?|family_?)name\b")


@check(Category.SECURITY, Severity.WARNING)
def unsafe_insertion(subject: Subject) -> Iterator[LintFinding]:
    """A template that inserts a client's value, which may span several segments of the key."""
    for rewrite, target in subject.rewrites:
        key = target.example(rewrite) if rewrite.dialect in _ADVICE else None
        if key is None:
            continue
        template, reported = rewrite.statement.template, set[str]()
        for what, place, request, user in _probes(template.value, key):
            if what not in reported and _INSERTED in str(target.result(key, request, user)).lower():
                reported.add(what)
                message = f"this inserts {what}: if it contains `/`, it spans several segments of the key"
                yield LintFinding(message, template.at(*place), _ADVICE[rewrite.dialect])


def _probes(text: str, key: str) -> Iterator[tuple[str, tuple[int, int], Request, User | None]]:
    """Yields values that a template may read, where, and a request and a user with a `/` in that value alone."""
    names = islice(_QUOTED_OR_FIELD.finditer(text), MOST_NAMES_TRIED)
    words = {word[0].lower(): word for word in reversed([*names])}
    plain = {"User-Agent" if word[0] == "UserAgent" else word[0]: "probe" for word in words.values()}
    user = User("ann", email="ann@example.com", groups=tuple(words), name="Ann", given_name="Ann", family_name="Lee")
    claims = (
        (_EMAIL, "an email address", replace(user, email=f"{_VALUE}@example.com")),
        (_GROUPS, "a group of the user", replace(user, groups=(_VALUE, *words))),
        (_NAMES, "a name of the user", replace(user, name=_VALUE, given_name=_VALUE, family_name=_VALUE)),
    )
    # A template may fail without the other values, or not read this one with them.
    for method, others in (("GET", {}), ("PUT", plain)):
        request = Request(method, path=RequestPath(key), headers=(*others.items(),), query=(*others.items(),))
        for name, word in zip(plain, words.values(), strict=True):
            values = (*{**others, name: _VALUE}.items(),)
            for who in (user, None):
                if _HEADERS.search(text):
                    yield f"the header `{name}`", word.span(), replace(request, headers=values), who
                if _QUERY.search(text):
                    asked = replace(request, raw_query="&".join(map("=".join, values)), query=values)
                    yield f"the query value `{name}`", word.span(), asked, who
        for mention, what, who in claims:
            if read := mention.search(text):
                yield what, read.span(), request, who


_ADVICE = {
    Dialect.JINJA: 'remove slashes with `| replace("/", "")`, or compare it with the values that you allow',
    Dialect.GO: 'remove slashes with `| replace "/" ""`, or compare it with the values that you allow',
}


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


def _unreached(each: model.Counted, advice: str = "") -> LintFinding:
    if isinstance(each, model.AddressList):
        return LintFinding("no test reaches this list", each.statement.file.span, advice)
    word = "`gone`" if each.kind is RuleKind.GONE else each.kind.value
    return LintFinding(f"no test reaches this {word}", each.statement.source.span, advice)


def _suggestion(target: TargetRules, of: model.Counted) -> str:
    """Returns a test that passes now, as help."""
    key = target.example(of)
    got = None if key is None else target.applied(key)
    if key is None or got is None:
        return "add a `test` of a key that it takes"
    result, span = expected_text(expectation(got, of.span)), of.span
    if len(key + result) > LONGEST_COPIED_TEST:
        return "add a `test` of a key that it takes"
    return f"add a test of a real key, such as `test {string_text(Literal(key, span))} -> {result}`"
