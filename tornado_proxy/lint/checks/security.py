"""Templates that fail for people who need not sign in, or that let clients choose the directory of a key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from tornado_proxy.goregex.alphabet import Budget
from tornado_proxy.goregex.language import language
from tornado_proxy.goregex.proofs import Example, overlap
from tornado_proxy.lang.diagnostic import Severity
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.lint.check import Category, Check, LintFinding, shown
from tornado_proxy.lint.shapes import ALL_GROUPS, Insertion
from tornado_proxy.lint.subject import Subject, TargetRules
from tornado_proxy.rules.model import Rewrite, RewriteError, UserRequired
from tornado_proxy.templates.template import RequestData, TargetKeyRewriteData

if TYPE_CHECKING:
    from tornado_proxy.config.model import Target

_STEPS = 200_000  # for the search of open paths, in all targets together


class MissingUser(Check):
    """A template that reads the user, on a path that needs no sign-in.

    Without a user such a template fails, and the request is refused with 403. With a configuration (`--config`)
    every such rewrite is tried on paths that no resource protects.

    ### Avoid

    ```rules
    target team {
        rewrite `^/home/(?P<rest>.*)$` -> jinja "/users/{{ user.username }}/{{ groups.rest }}"

        test "/home/a.txt" as "ann" -> "/users/ann/a.txt"
    }
    ```

    ### Prefer

    ```rules
    target team {
        rewrite `^/home/(?P<rest>.*)$` -> jinja "/users/{{ user.username if user else 'guest' }}/{{ groups.rest }}"

        test "/home/a.txt" as "ann" -> "/users/ann/a.txt"
        test "/home/a.txt"          -> "/users/guest/a.txt"
    }
    ```

    ### Configuration

    ```yaml
    targets:
      team:
        mount: {path: [/team]}
        bucket: {name: files, region: eu-west-1}
    ```
    """

    category = Category.SECURITY
    severity = Severity.WARNING
    needs_configuration = True

    def find(self, subject: Subject) -> Iterator[LintFinding]:
        """Yields rewrites whose template reads the user and that an open path reaches."""
        budget = Budget(_STEPS)
        for target in subject.targets:
            configured = target.configured
            if configured is None:
                continue
            for index, rewrite in enumerate(target.rewrites):
                if rewrite.template.reads_user:
                    request = next(_refused(target, configured, index, budget), None)
                    if request is not None:
                        yield _without_user(rewrite, request)


def _refused(target: TargetRules, configured: Target, index: int, budget: Budget) -> Iterator[str]:
    """Yields requests that need no sign-in and fail without a user, as `GET /path`."""
    from tornado_proxy.routing.access import Access, Anyone  # noqa: PLC0415 - for a configuration only
    from tornado_proxy.routing.request import RequestPath  # noqa: PLC0415 - the same

    access = Access(configured.resources)
    for mount, key in _candidates(target, configured, index, budget):
        path = mount + key
        open_to = (m for m in configured.actions.methods if isinstance(access.guard(RequestPath(path), m), Anyone))
        for method in open_to:
            if target.taker(key) == index and _needs_user(target, RequestData(method, path=path), key):
                yield f"{method} {path}"


def _needs_user(target: TargetRules, request: RequestData, key: str) -> bool:
    """Returns whether an anonymous request fails because it has no user, and for no other reason."""
    try:
        target.rule_set.apply(TargetKeyRewriteData(key, None, request, target.data))
    except RewriteError as error:
        return isinstance(error, UserRequired)
    return False


def _candidates(target: TargetRules, configured: Target, index: int, budget: Budget) -> Iterator[tuple[str, str]]:
    """Yields mounts, without their last slash, and keys below them that the rewrite may take."""
    keys = [target.example(index), *(test.key for test in target.rule_set.tests)]
    open_globs = [resource.path for resource in configured.resources if resource.white_list]
    for mount in (path.rstrip("/") for path in configured.mount.paths):
        yield from ((mount, key) for key in keys if key)
        yield from ((mount, key) for key in _within(open_globs, mount, target.rewrites[index], budget))


def _within(globs: Iterable[str], mount: str, rewrite: Rewrite, budget: Budget) -> Iterator[str]:
    """Yields keys below a mount that an anchored source matches and whose paths a glob covers."""
    from tornado_proxy.routing.access import path_expression  # noqa: PLC0415 - for a configuration only

    text = rewrite.pattern.text
    if not text.startswith("^") or "|" in text:
        return
    paths = language(f"^{re.escape(mount)}{text[1:]}")
    for glob in globs:
        answer = overlap(paths, language(path_expression(glob)), budget.portion(budget.left))
        if isinstance(answer, Example):
            yield answer.key[len(mount) :]


def _without_user(rewrite: Rewrite, request: str) -> LintFinding:
    message = f"this reads the user, but {shown(request)} needs no sign-in: without a user it is refused with 403"
    advice = "protect the path with a resource that names a provider, or ask `if user` first"
    return LintFinding(message, rewrite.statement.template.span, advice)


class UnsafeInsertion(Check):
    """A template that inserts a client's value, which may span several segments of the key.

    A client, or its identity provider, chooses the value of a header, a query value, an email address, a group or
    another claim. If it contains `/`, the key is in another directory than the template's author expects. Results
    with `..` are refused, so no key leaves the prefix of the bucket. `user.username` is always one segment: a name
    with a `/` is refused at sign-in.

    A value is not reported if a condition compares it with the allowed ones or excludes `/`, or if its slashes are
    removed: by `replace`, by taking a part between them (`split("/")[0]`), by functions whose results have none
    (`b32enc`), or by an expression that matches each of them (`regexReplaceAll "[^a-z]" … ""`). Anything else that
    is made of a value may have slashes, too.

    ### Avoid

    ```rules
    target team {
        rewrite `^/box/(?P<file>[^/]+)$` -> jinja `/boxes/{{ request.headers["X-Team"] }}/{{ groups.file }}`

        test "/box/a.txt" header "X-Team" "blue" -> "/boxes/blue/a.txt"
    }
    ```

    ### Prefer

    ```rules
    target team {
        rewrite `^/box/(?P<file>[^/]+)$` -> jinja `
            /boxes/{{ request.headers["X-Team"] | replace("/", "") }}/{{ groups.file }}
        `

        test "/box/a.txt" header "X-Team" "blue" -> "/boxes/blue/a.txt"
    }
    ```
    """

    category = Category.SECURITY
    severity = Severity.WARNING

    def find(self, subject: Subject) -> Iterator[LintFinding]:
        """Yields what `jinja` and `go` templates insert; a plain one inserts only parts of the key."""
        rewrites = (rewrite for target in subject.targets for rewrite in target.rewrites)
        for rewrite in rewrites:
            if rewrite.dialect in _READERS:
                literal = rewrite.statement.template
                for what, start, end in _READERS[rewrite.dialect](literal.value):
                    message = f"this inserts {what}: if it contains `/`, it spans several segments of the key"
                    advice = _ADVICE[rewrite.dialect]
                    if what == ALL_GROUPS:
                        message, advice = _LIST
                    yield LintFinding(message, literal.at(start, end), advice)


def _of_jinja(text: str) -> Iterator[Insertion]:
    from tornado_proxy.lint import jinja_insertions  # noqa: PLC0415 - Jinja2, only if a file needs it

    return jinja_insertions.insertions(text)


def _of_go(text: str) -> Iterator[Insertion]:
    from tornado_proxy.lint import go_insertions  # noqa: PLC0415 - the grammar, only if a file needs it

    return go_insertions.insertions(text)


_READERS: Mapping[Dialect, Callable[[str], Iterator[Insertion]]] = {Dialect.JINJA: _of_jinja, Dialect.GO: _of_go}
_ADVICE = {
    Dialect.JINJA: 'remove slashes with `| replace("/", "")`, or compare it with the values that you allow',
    Dialect.GO: 'remove slashes with `| replace "/" ""`, or compare it with the values that you allow',
}
_LIST = (
    "this inserts all groups of the user: a list is not text, so the template always fails",
    'write one of them, `user.groups[0]`, or join them: `user.groups | join("-")`',
)
