"""Writes what another server's files redirect, rewrite or call gone as rules, lists of addresses and tests.

`hosting` reads the files of Netlify, Cloudflare and S3, `servers` those of nginx and Apache: each yields entries in the
order in which its server tries them, and remarks on what it cannot express. The first rule that matches decides here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace as replace_dataclass
from functools import partial
from urllib.parse import quote, unquote

import msgspec
from msgspec.structs import replace

from gotemplate.regexp.automaton import is_valid_key, language
from gotemplate.regexp.matching import FirstMatch, compile_pattern
from gotemplate.regexp.proofs import NoKey, difference
from tornado_proxy.rules import tree
from tornado_proxy.rules.diagnostic import SourceFile, Span
from tornado_proxy.rules.expectations import compile_test
from tornado_proxy.rules.lists import read_list
from tornado_proxy.rules.loading import compile_documents
from tornado_proxy.rules.model import Rewrite, RewriteError, RuleSet, RuleTest
from tornado_proxy.templates.template import TargetKeyRewriteData
from tornado_proxy.tools.convert.options import OptionOutcome, Remark, where
from tornado_proxy.tools.convert.rewrites import NOWHERE, document, one_line
from tornado_proxy.tools.limits import FEW_ADDRESSES, LONGEST_SUBJECT, TESTED_OF_A_LIST

STATUSES = {str(each): each for each in (*tree.REDIRECTS, 200, 410)}
"""The statuses that a rule can answer with, as they are written: 200 of a rewrite, 410 of what is gone."""

_KINDS = {200: tree.RuleKind.REWRITE, 410: tree.RuleKind.GONE}
_META = re.compile(r"[\\.+*?()|\[\]{}^$]")
_LITERAL = re.compile(r"\^(/(?:[^\\.+*?()|\[\]{}^$]|\\[^\w])*)\$")
_BACKSLASH = re.compile(r"\\(?=.)")
_NOT_LISTED = re.compile(r"[\s%?#]")


def exactly(text: str) -> str:
    """Returns the expression that matches a text and nothing else."""
    return _META.sub(r"\\\g<0>", text)


class ForeignRule(msgspec.Struct, frozen=True):
    """An exact path, or an expression if it is not `is_exact`, and where it leads, with the words of a statement.

    The result is a location with `$name` for groups; of a rewrite, which has the status 200, a key; of what is gone,
    with 410, nothing.
    """

    place: Span
    source: str
    result: str = ""
    status: int = 301
    is_exact: bool = False
    any_case: bool = False
    if_missing: bool = False
    keeps_query: bool = True
    dialect: tree.Dialect = tree.Dialect.PLAIN
    sample: str = ""  # a path that it takes; if there is none, one is searched for

    @property
    def simplest(self) -> ForeignRule:
        """The entry; of an exact path, if its expression matches no other."""
        literal = _LITERAL.fullmatch(self.source)
        if self.is_exact or literal is None or self.dialect is not tree.Dialect.PLAIN:
            return self
        if "$" in self.result.replace("$$", ""):
            return self
        source, result = _BACKSLASH.sub("", literal[1]), self.result.replace("$$", "$")
        return replace(self, source=source, result=result, is_exact=True)

    @property
    def kind(self) -> tree.RuleKind:
        """What it does with a path."""
        return _KINDS.get(self.status, tree.RuleKind.REDIRECT)

    @property
    def can_be_listed(self) -> bool:
        """Whether it can be a line of a list."""
        return self.is_exact and self.kind is not tree.RuleKind.GONE and self.dialect is tree.Dialect.PLAIN

    @property
    def address(self) -> str:
        """A path that it takes; empty if none is known."""
        if self.is_exact:
            return self.source
        guesses = (self.sample, language(self.source).guess or "")
        search = compile_pattern(self.source).search
        return next((each for each in guesses if is_valid_key(each) and search(each)), "")

    @property
    def words(self) -> tree.Redirecting:
        """The words of its redirect."""
        if self.kind is not tree.RuleKind.REDIRECT:
            return tree.Redirecting()
        return tree.Redirecting(self.status, self.if_missing, self.keeps_query)

    @property
    def statement(self) -> tree.RewriteStatement:
        """Its statement, at the place of the entry, so that what is wrong with it is shown there."""
        source, result = self.source, self.result
        if self.is_exact:
            source, result = f"^{exactly(source)}$", result.replace("$", "$$")
        text = tree.Literal(f"(?i){source}" if self.any_case else source, self.place, raw=True)
        template = tree.Literal(result, self.place, raw=False)
        return tree.RewriteStatement(
            None, text, self.dialect, template, self.place, kind=self.kind, redirecting=self.words
        )

    def list_statement(self, file: str) -> tree.ListStatement:
        """The statement of a list of entries with its words."""
        return tree.ListStatement(self.kind, tree.Literal(file, NOWHERE), self.any_case, self.words, NOWHERE)

    def line(self, most: int) -> str:
        """Its line in a list whose statement has a status."""
        source, result = (_NOT_LISTED.sub(lambda sign: quote(sign[0]), each) for each in (self.source, self.result))
        if self.kind is tree.RuleKind.REDIRECT:
            result = quote(self.result, safe="/:@!$&'()*+,;=~%?#[]")
        return f"{source} {result}\n" if self.status == most else f"{source} {result} {self.status}\n"


def as_is(place: Span, source: str, *, is_exact: bool = False) -> ForeignRule:
    """Returns the entry of paths that another server takes before later entries, and serves as they are."""
    return ForeignRule(place, source, "{{ .Key }}", 200, is_exact, dialect=tree.Dialect.GO)


def remark(outcome: OptionOutcome, place: Span, message: str, help: str | None = None) -> Remark:
    """Returns what became of an entry, with an excerpt."""
    excerpt = one_line(" ".join(place.text.split()))
    shown = excerpt if len(excerpt) <= LONGEST_SUBJECT else f"{excerpt[:LONGEST_SUBJECT]}…"
    return Remark(outcome, shown, message, place, help)


left_out = partial(remark, OptionOutcome.LEFT_OUT)
changed = partial(remark, OptionOutcome.CHANGED)

Read = Iterator[ForeignRule | Remark]
"""What is read of a file."""


def rules(
    target: str, read: Iterable[ForeignRule | Remark], *, lists: bool = True
) -> tuple[Mapping[str, str], Sequence[Remark]]:
    """Returns entries as files by name, which are rules and the `lists` of many addresses, and what became of each."""
    items, stem = [*read], re.sub(r"[^a-z0-9_-]", "_", target.lower())
    entries, sources, refused = _expressible(target, [each.simplest for each in items if isinstance(each, ForeignRule)])
    entries, unused = _reached(entries, sources)
    tested, files = {id(entry) for entry in entries}, {}
    heads: dict[int, Sequence[tree.Statement]] = {}
    for number, listed in enumerate(_lists(entries) if lists else (), 1):
        file = f"{stem}-moved{f'-{number}' if number > 1 else ''}.txt"
        first = replace(listed[0], status=Counter(each.status for each in listed).most_common(1)[0][0])
        files[file] = "".join(each.line(first.status) for each in listed)
        heads |= {id(each): () for each in listed} | {id(listed[0]): (first.list_statement(file),)}
        tested -= {id(each) for each in listed[TESTED_OF_A_LIST:]}
    made = _tests([entry for entry in entries if id(entry) in tested], sources)
    tests = [each for each in made if isinstance(compile_test(each), RuleTest)]
    tests[:1] = [replace_dataclass(each, blank_before=True) for each in tests[:1]]
    # Of an entry with two addresses, there is one remark.
    remarks = [*dict.fromkeys([*(each for each in items if isinstance(each, Remark)), *refused, *unused])]
    known = {each.place for each in remarks}
    for entry in {entry.place: entry for entry in entries if entry.place not in known}.values():
        status = f" {entry.status}" if entry.kind is tree.RuleKind.REDIRECT else ""
        remarks.append(remark(OptionOutcome.CARRIED, entry.place, f"as `{entry.kind.value}{status}`"))
    remarks.sort(key=lambda each: (each.place.source.name, each.place.start))
    closing = [
        tree.Comment(f"# LEFT OUT, {where(each.place)}: {each.subject} ({one_line(each.message)})", NOWHERE)
        for each in remarks
        if each.outcome is OptionOutcome.LEFT_OUT
    ]
    statements: list[tree.Statement] = []
    for entry in entries:
        is_listed = id(entry) in heads
        statements += heads[id(entry)] if is_listed else (entry.statement,)
    text = tree.print_document(document(target, [*statements, *tests], closing))
    return {f"{stem}.rules": text, **files}, remarks


def _expressible(target: str, entries: Sequence[ForeignRule]) -> tuple[list[ForeignRule], RuleSet, list[Remark]]:
    """Returns the entries that the language accepts, the rules of their expressions, and remarks on the others."""
    compiled = compile_documents([document(target, [each.statement for each in entries if not each.is_exact])])
    mistakes = {each.span: (each.message, each.help) for each in reversed(compiled.diagnostics)}
    made = {each.span: each for each in (compiled.rule_sets.get(target) or RuleSet(target)).rewrites}
    accepted, refused = [], []
    for entry in entries:
        mistake = mistakes.get(entry.place)
        if entry.is_exact:
            line = entry if entry.can_be_listed else replace(entry, status=301, result="/", dialect=tree.Dialect.PLAIN)
            _, found = read_list(line.list_statement(""), SourceFile("", line.line(line.status)))
            mistake = (found[0].message, found[0].help) if found else None
        if not mistake and entry.can_be_listed and entry.kind is tree.RuleKind.REWRITE and entry.source.endswith("/"):
            mistake = "a directory is not rewritten to a file", None
        if not mistake and entry.kind is tree.RuleKind.REDIRECT and _leads_to_itself(entry, made.get(entry.place)):
            mistake = "it leads to its own address", None
        if mistake:
            refused.append(left_out(entry.place, *mistake))
        else:
            accepted.append(entry)
    expressions = (made[each.place] for each in accepted if not each.is_exact)
    return accepted, RuleSet(target, tuple(expressions)), refused


def _leads_to_itself(entry: ForeignRule, rewrite: Rewrite | None) -> bool:
    text, key = entry.result, entry.address
    if not entry.is_exact and key and rewrite and (captures := rewrite.pattern.search(key)):
        text = rewrite.template.render(captures, TargetKeyRewriteData(key), marked=True)
    with suppress(tree.NoLocation):
        return unquote(tree.read_location(text).path) == key
    return False


def _reached(entries: Sequence[ForeignRule], sources: RuleSet) -> tuple[list[ForeignRule], list[Remark]]:
    """Returns the entries of which an address is left by those before them, and remarks on the others."""
    first = FirstMatch([each.pattern for each in sources.rewrites])
    expressions = [number for number, each in enumerate(entries) if not each.is_exact]
    exact: dict[str, ForeignRule] = {}
    reached, unused = [], []
    for number, entry in enumerate(entries):
        taken = None if entry.any_case else first.find(entry.address)
        by = entries[expressions[taken[0]]] if taken and expressions[taken[0]] < number else None
        if entry.is_exact:
            folded = f"\0{entry.source.casefold()}"  # no path begins so
            by = by or exact.get(folded) or exact.setdefault(folded if entry.any_case else entry.source, entry)
        elif by and not isinstance(difference(language(entry.source), language(by.source)), NoKey):
            by = None
        if by is None or by is entry:
            reached.append(entry)
        elif by.place != entry.place:
            message = f"never used: the entry at {where(by.place)} takes its addresses first"
            unused.append(remark(OptionOutcome.ADAPTED, entry.place, message))
    return reached, unused


def _lists(entries: Sequence[ForeignRule]) -> Iterator[Sequence[ForeignRule]]:
    """Yields the entries of each list, which stands in the place of the first, as none before takes their addresses.

    An address in any case may be taken in another case, so only others of its kind stand before one in a list.
    """
    together: dict[object, list[ForeignRule]] = {}
    is_alone = True
    for entry in entries:
        is_alone &= entry.any_case
        if entry.can_be_listed and (is_alone or not entry.any_case):
            together.setdefault((entry.kind, entry.any_case, entry.if_missing, entry.keeps_query), []).append(entry)
    yield from (each for each in together.values() if len(each) > FEW_ADDRESSES)


def _tests(entries: Sequence[ForeignRule], sources: RuleSet) -> Iterator[tree.TestStatement]:
    """Yields a test of each entry whose address no other takes."""
    exact = {each.source for each in entries if each.is_exact}
    for entry in (each for each in entries if each.dialect is tree.Dialect.PLAIN and each.address):
        key = entry.address
        if entry.is_exact and not (entry.any_case and sources.taker(key)):
            is_redirect = entry.kind is tree.RuleKind.REDIRECT
            yield _test(entry, key, str(tree.read_location(entry.result)) if is_redirect else entry.result)
        elif not entry.is_exact and key not in exact:
            with suppress(RewriteError):
                got = sources.rewrite(key)
                if got.rewrite and got.rewrite.span == entry.place:
                    yield _test(entry, key, str(got.moved.location) if got.moved else got.key)


def _test(entry: ForeignRule, key: str, result: str) -> tree.TestStatement:
    literal = tree.Literal(result, NOWHERE)
    expected: tree.Literal | tree.Verdict | tree.RedirectTo = tree.Verdict.GONE
    if entry.kind is not tree.RuleKind.GONE:
        expected = literal if entry.kind is tree.RuleKind.REWRITE else tree.RedirectTo(literal, entry.status)
    return tree.TestStatement(tree.Literal(key, NOWHERE), tree.RequestClauses(), expected, NOWHERE)
