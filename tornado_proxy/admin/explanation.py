"""The way of a request from its address to its object, as steps for the status page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gotemplate.regexp.parser import parse
from gotemplate.regexp.syntax import Group, walk
from tornado_proxy.admin.status import Explanation, PathStep, Piece
from tornado_proxy.routing.access import Anyone, SignedIn
from tornado_proxy.routing.decide import Decision, RewriteTrace, beside, trace
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.routing.plan import Attempt, Redirect, RedirectToSignedUrl, Refuse, Serve
from tornado_proxy.rules.model import Rewrite
from tornado_proxy.semantics.request import User
from tornado_proxy.tools import explain
from tornado_proxy.tools.simulator import RequestDefaults


def explained(mounts: Mounts, asked: Mapping[str, str]) -> Explanation:
    """Explains a request for the status page; `asked` contains the fields of its form."""
    user = User(asked["user"]) if asked.get("user") else None
    client = RequestDefaults(user, asked.get("host", ""))
    found = explain.explain(mounts, asked["path"], asked.get("method", "GET"), client, asked.get("file"))
    rows = tuple(explain.sections(found, user))
    target = found.match.site.target.name if found.match else None
    attempts = tuple(each for each in found.plan if _is_made(mounts, found, each))
    return Explanation(explain.heading(found), rows, tuple(_steps(found)), target, attempts)


def _is_made(mounts: Mounts, found: Decision, attempt: Attempt) -> bool:
    """Whether the service would make an attempt; one that answers for other paths needs them all."""
    paths = attempt.paths if isinstance(attempt, Serve | RedirectToSignedUrl | Redirect) else ()
    return all(found.admits(beside(mounts, found, path, permitted=True)) for path in paths)


def _steps(found: Decision) -> Iterator[PathStep]:
    yield _step("URL", f"{found.request.method} {found.request.path}")
    match, rewriting = found.match, trace(found)
    if match is None:
        return
    yield _step("target", match.site.target.name, f"mounted at {match.site.target.mount.host}{match.mount}")
    is_refused = rewriting is None and isinstance(found.plan[0], Refuse)
    guard = found.checks[-1].guard if found.checks else Anyone()
    permitted = f"users of {guard.provider}" if isinstance(guard, SignedIn) else "nobody"
    permitted = "anyone" if isinstance(guard, Anyone) else permitted
    who = f"as {found.user.username}" if found.user else "not signed in"
    yield _step("access", permitted, who, outcome="bad" if is_refused else "good")
    if rewriting is None:
        return
    yield rewrite_step("rewrite", rewriting, len(match.site.rules.rewrites))
    if rewriting.object_key is not None:
        yield _step("key", rewriting.object_key or "(the whole bucket)")


def rewrite_step(title: str, rewriting: RewriteTrace, count: int) -> PathStep:
    """Returns the application of the rules to a key, of `count` rewrites, as a step with the groups in colour."""
    matched, captures = rewriting.matched, rewriting.captures
    if matched is None or captures is None:
        return _step(title, "none matches" if count else "none", rewriting.key)
    names = {number: name for name, number in captures.names.items()}
    groups = [
        piece
        for number, text in enumerate(captures.groups[1:], start=1)
        for piece in ((f"{names.get(number, number)} = ", None), (text or "(empty)", number), ("  ", None))
    ]
    outcome = "bad" if rewriting.failure else "good"
    template = (("\N{RIGHTWARDS ARROW} ", None), *_template(matched))
    lines: tuple[tuple[Piece, ...], ...] = (((matched.label, None),), _source(matched), template, tuple(groups))
    return PathStep(title, tuple(line for line in lines if line), outcome)


def _source(rewrite: Rewrite) -> tuple[Piece, ...]:
    """Returns the source in pieces; of nested groups, a character belongs to the innermost."""
    text = rewrite.pattern.text
    owners: list[int | None] = [None] * len(text)
    for node in walk(parse(text).tree):
        if isinstance(node, Group) and node.number is not None:
            owners[node.extent.start : node.extent.end] = [node.number] * (node.extent.end - node.extent.start)
    return _pieces(text, owners)


def _template(rewrite: Rewrite) -> tuple[Piece, ...]:
    """Returns the template in pieces; what names a group belongs to it."""
    text = rewrite.template.text
    owners: list[int | None] = [None] * len(text)
    for name, start, end in rewrite.template.group_references:
        number = int(name) if name.isdecimal() else rewrite.pattern.names.get(name)
        owners[start:end] = [number] * (end - start)
    return _pieces(text, owners)


def _pieces(text: str, owners: list[int | None]) -> tuple[Piece, ...]:
    starts = [at for at in range(len(text)) if not at or owners[at] != owners[at - 1]]
    return tuple((text[start:end], owners[start]) for start, end in zip(starts, [*starts[1:], len(text)], strict=True))


def _step(title: str, *lines: str, outcome: str = "") -> PathStep:
    return PathStep(title, tuple(((line, None),) for line in lines), outcome)
