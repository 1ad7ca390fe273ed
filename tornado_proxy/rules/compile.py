"""Compiles documents to rule sets: blocks of one target add up, every mistake is a diagnostic with its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from tornado_proxy.goregex.matching import Pattern, compile_source
from tornado_proxy.goregex.syntax import PatternError
from tornado_proxy.lang.diagnostic import Diagnostic, Edit, Fix, Note, Safety, did_you_mean
from tornado_proxy.lang.literals import name_text
from tornado_proxy.lang.tree import (
    Dialect,
    Document,
    Literal,
    RequestClauses,
    RewriteStatement,
    TargetBlock,
    TestStatement,
    Verdict,
)
from tornado_proxy.rules.model import (
    METHODS,
    Compiled,
    Key,
    Rewrite,
    RuleSet,
    RuleTest,
    host_objection,
    objection,
    segment_objection,
)
from tornado_proxy.templates.template import Template, TemplateMistake, User, compile_plain

_MOST_MISTAKES = 10  # of one template

# An action that writes a value, in both dialects that have actions: no other one refers to it.
_WRITING = re.compile(
    r"\{\{(?!-?\s*(?:if|else|end|range|with|define|block|template|break|continue)\b)(?![^{}]*:?=)[^{}]*\}\}"
)

_Making = tuple[str, Dialect, str, tuple[str, ...]]
"""All that pattern and template are made of: source, dialect, template, and the helpers of a Go template."""

CompileTemplate = Callable[[str, Mapping[str, int], int], Template]

HelperTexts = Callable[[str], tuple[str, ...]]
"""The texts of the helpers that the Go templates of a target's rules may call."""


def _plain() -> CompileTemplate:
    return compile_plain


def _jinja() -> CompileTemplate:
    from tornado_proxy.templates import jinja  # noqa: PLC0415 - Jinja2 is imported only where a file needs it

    return jinja.compile_template


def _go(helpers: tuple[str, ...]) -> CompileTemplate:
    from tornado_proxy.templates import golang  # noqa: PLC0415 - only where a file needs it

    return partial(golang.compile_template, helpers=helpers)


_DIALECTS: Mapping[Dialect, Callable[[], CompileTemplate]] = {Dialect.PLAIN: _plain, Dialect.JINJA: _jinja}


def no_helpers(_target: str) -> tuple[str, ...]:
    """The helpers where no configuration names any."""
    return ()


def compile_documents(
    documents: Sequence[Document], known: Mapping[str, RuleSet] | None = None, helpers: HelperTexts = no_helpers
) -> Compiled:
    """The rule sets of parsed files, given in their order; a statement with a mistake is left out of its set.

    What rule sets that are known have compiled already is taken over from them: an edit costs what it changes.
    """
    targets: dict[str, _Target] = {}
    diagnostics: list[Diagnostic] = []
    for document in documents:
        for block in document.blocks:
            name = block.name.value
            if name not in targets:
                targets[name] = _Target(name, (known or {}).get(name, RuleSet(name)), helpers(name))
            diagnostics.extend(targets[name].add(block))
    return Compiled({name: target.rule_set() for name, target in targets.items()}, tuple(diagnostics))


@dataclass(slots=True)
class _Target:
    """A rule set in the making; numbers count every rewrite, those with mistakes too, as their author counts them."""

    name: str
    known: RuleSet
    helpers: tuple[str, ...] = ()
    number: int = 0
    rewrites: list[Rewrite] = field(default_factory=list)
    tests: list[RuleTest] = field(default_factory=list)
    names: dict[str, Literal] = field(default_factory=dict)
    made: Mapping[_Making, Rewrite] = field(init=False)

    def __post_init__(self) -> None:
        self.made = {
            (each.pattern.text, each.dialect, each.template.text, getattr(each.template, "helpers", ())): each
            for each in self.known.rewrites
        }

    def rule_set(self) -> RuleSet:
        """What has been added so far, frozen."""
        return RuleSet(self.name, tuple(self.rewrites), tuple(self.tests), self.known.first_match)

    def add(self, block: TargetBlock) -> Iterator[Diagnostic]:
        """Take in one more block; yields its mistakes."""
        for statement in block.statements:
            if isinstance(statement, RewriteStatement):
                yield from self._add_rewrite(statement)
            else:
                yield from self._add_test(statement)

    def _add_rewrite(self, statement: RewriteStatement) -> Iterator[Diagnostic]:
        self.number += 1
        if statement.name is not None:
            yield from self._claim(statement.name)
        compiled = self._compiled(statement)
        if isinstance(compiled[0], Diagnostic):
            yield from compiled
            return
        name = statement.name.value if statement.name else None
        pattern, template = compiled
        self.rewrites.append(Rewrite(self.number, name, pattern, statement.dialect, template, statement))

    def _compiled(self, statement: RewriteStatement) -> tuple[Pattern, Template] | tuple[Diagnostic, ...]:
        dialect, helpers = statement.dialect, self.helpers if statement.dialect is Dialect.GO else ()
        made = self.made.get((statement.source.value, dialect, statement.template.value, helpers))
        if made is not None:
            return made.pattern, made.template
        pattern = _compiled_source(statement.source)
        if isinstance(pattern, Diagnostic):
            return (pattern,)
        template = _compiled_template(statement, pattern, helpers)
        return template if isinstance(template, tuple) else (pattern, template)

    def _claim(self, name: Literal) -> Iterator[Diagnostic]:
        first = self.names.setdefault(name.value, name)
        if first is not name:
            yield Diagnostic(
                "duplicate-name",
                f"`{self.name}` has two rewrites named `{name.value}`",
                name.span,
                help="give one of them another name, or none",
                notes=(Note("the first is here", first.span),),
            )

    def _add_test(self, statement: TestStatement) -> Iterator[Diagnostic]:
        test = compile_test(statement)
        if isinstance(test, RuleTest):
            self.tests.append(test)
        else:
            yield from test


def _compiled_source(source: Literal) -> Pattern | Diagnostic:
    try:
        return compile_source(source.value)
    except PatternError as error:
        return Diagnostic("bad-source", str(error), source.at(error.offset, error.end), help=error.help)


def _compiled_template(
    statement: RewriteStatement, pattern: Pattern, helpers: tuple[str, ...]
) -> Template | tuple[Diagnostic, ...]:
    """The template of a statement, or its mistakes.

    An action that cannot be read hides the mistakes of the rest, so it is left out once its own is known.
    """
    literal = statement.template
    compile_template = _go(helpers) if statement.dialect is Dialect.GO else _DIALECTS[statement.dialect]()
    text, found = literal.value, dict[int, TemplateMistake]()
    while True:
        try:
            template = compile_template(text, pattern.names, pattern.group_count)
        except TemplateMistake as mistake:
            new = {each.offset: each for each in (mistake, *mistake.others) if each.offset not in found}
            found |= new
            if new and len(found) < _MOST_MISTAKES:
                text = _without_action(text, mistake.offset)
                continue
        else:
            if not found:
                return template
        return tuple(
            Diagnostic("bad-template", str(each), literal.at(each.offset, each.end), help=each.help)
            for _, each in sorted(found.items())[:_MOST_MISTAKES]
        )


def _without_action(text: str, offset: int) -> str:
    """A template with spaces in place of the action at an offset, unless others may depend on that."""
    for action in _WRITING.finditer(text):
        if action.start() <= offset < action.end():
            return f"{text[: action.start()]}{' ' * len(action[0])}{text[action.end() :]}"
    return text


_ABSOLUTE = re.compile(r"https?://[^/?#]*(?P<path>/[^?#]*)?", re.IGNORECASE)


def compile_test(statement: TestStatement) -> RuleTest | tuple[Diagnostic, ...]:
    """The test of a statement, or its mistakes."""
    mistakes = tuple(_mistakes(statement))
    if mistakes:
        return mistakes
    clauses, expected = statement.clauses, statement.expected
    return RuleTest(
        key=Key(statement.key.value),
        method=clauses.method.value if clauses.method else "GET",
        user=_user(clauses),
        host=clauses.host.value if clauses.host else "",
        headers=tuple((name.value, value.value) for name, value in clauses.headers),
        expected=expected if isinstance(expected, Verdict) else expected.value,
        statement=statement,
    )


def _mistakes(statement: TestStatement) -> Iterator[Diagnostic]:
    yield from _key_mistakes(statement.key)
    if isinstance(statement.expected, Literal):
        yield from _key_mistakes(statement.expected, help="expect `error` where the result is refused")
    clauses = statement.clauses
    if clauses.method is not None:
        yield from _method_mistakes(clauses.method, statement.key)
    yield from _request_mistakes(clauses)


def _request_mistakes(clauses: RequestClauses) -> Iterator[Diagnostic]:
    user, host = clauses.user, clauses.host
    if user is not None and (reason := segment_objection(user.value)) is not None:
        message = f"`{user.value}` cannot sign in: the name {reason}"
        advice = "the service refuses such a name before it asks any rule; a name is one segment of a path"
        yield Diagnostic("bad-test", message, user.span, advice)
    if host is not None and (reason := host_objection(host.value)) is not None:
        advice = "the service refuses such a request before it asks any rule; a host is a name or an address"
        yield Diagnostic("bad-test", f"the host `{host.value}` {reason}", host.span, advice)
    for clause, literal in (("user-groups", clauses.user_groups), ("email", clauses.email)):
        if literal is not None and clauses.user is None:
            yield Diagnostic(
                "bad-test",
                f"`{clause}` says something of a user, but nobody is signed in",
                literal.span,
                help='name the user with `as "…"`',
            )


def _key_mistakes(key: Literal, help: str | None = None) -> Iterator[Diagnostic]:
    if not key.value.startswith("/"):
        address = _ABSOLUTE.match(key.value)
        advice = f'write "/{key.value}": a key is the path below the mount, with its leading slash'
        if address is not None:
            advice = f'write "{address["path"] or "/"}": a key is the path alone, without scheme, host and query'
        yield Diagnostic("bad-test", f"the key `{key.value}` does not begin with `/`", key.span, advice)
    elif (reason := objection(key.value)) is not None:
        yield Diagnostic("bad-test", f"the key {reason}", key.span, help=help)


def _method_mistakes(method: Literal, key: Literal) -> Iterator[Diagnostic]:
    if method.value not in METHODS:
        listed = ", ".join(f"`{each}`" for each in METHODS)
        yield Diagnostic("bad-test", f"unknown method `{method.value}`", method.span, help=f"use {listed}")
    elif method.value in ("PUT", "DELETE") and key.value.endswith("/"):
        yield Diagnostic(
            "bad-test",
            f"the key of a `{method.value}` ends in the file's name, not in `/`",
            key.span,
            help="add the name of the file",
        )


def _user(clauses: RequestClauses) -> User | None:
    """Who asks; one with an email or groups is what s3-proxy calls a header user."""
    if clauses.user is None:
        return None
    if clauses.user_groups is None and clauses.email is None:
        return User(clauses.user.value)
    listed = clauses.user_groups.value if clauses.user_groups else ""
    groups = tuple(group for each in listed.split(",") if (group := each.strip()))
    return User(clauses.user.value, "HEADER", clauses.email.value if clauses.email else "", groups)


def unknown_targets(documents: Iterable[Document], names: Collection[str]) -> Iterator[Diagnostic]:
    """What is wrong with blocks of targets that the configuration does not name."""
    for name in (block.name for document in documents for block in document.blocks):
        if name.value in names:
            continue
        message = f"the configuration knows no target `{name.value}`"
        meant = did_you_mean(name.value, names)
        if meant is None:
            yield Diagnostic("unknown-target", message, name.span, "name it in `targets` of the configuration")
        else:
            edit = Edit(name.span, name_text(Literal(meant, name.span)))
            fix = Fix(f"call it `{meant}`", (edit,), Safety.UNSAFE)
            yield Diagnostic("unknown-target", message, name.span, f"did you mean `{meant}`?", fixes=(fix,))
