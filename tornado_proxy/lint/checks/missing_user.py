r"""A template that reads the user, for a path where nobody need sign in.

Where nobody is signed in a template that reads the user fails, and the request is refused with 403. With a
configuration (`--config`) every such rewrite is tried on paths that a resource leaves open, or that none protects.

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

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tornado_proxy.goregex.alphabet import Budget
from tornado_proxy.goregex.language import language
from tornado_proxy.goregex.proofs import Example, overlap
from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.findings import shown
from tornado_proxy.lint.subject import Subject, TargetRules
from tornado_proxy.rules.model import Rewrite, RewriteError, UserRequired
from tornado_proxy.templates.template import RequestData, TargetKeyRewriteData

if TYPE_CHECKING:
    from tornado_proxy.config.model import Target

NAME = check_name(__name__)
CATEGORY = Category.SECURITY
SEVERITY = Severity.WARNING
NEEDS_CONFIGURATION = True

STEPS = 200_000
"""What looking for open paths may cost."""


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Look for an open path for every rewrite whose template reads the user."""
    budget = Budget(STEPS)
    for target in subject.targets:
        configured = target.configured
        if configured is None:
            continue
        for index, rewrite in enumerate(target.rewrites):
            if rewrite.template.reads_user:
                request = next(_refused(target, configured, index, budget), None)
                if request is not None:
                    yield _finding(rewrite, request)


def _refused(target: TargetRules, configured: Target, index: int, budget: Budget) -> Iterator[str]:
    """Requests that need no sign-in and fail for want of a user, as `GET /path`."""
    from tornado_proxy.routing.access import Access, Anyone  # noqa: PLC0415 - for a configuration only
    from tornado_proxy.routing.request import RequestPath  # noqa: PLC0415 - the same

    access = Access(configured.resources)
    for mount, key in _candidates(target, configured, index, budget):
        path = mount + key
        open_to = (m for m in configured.actions.methods if isinstance(access.guard(RequestPath(path), m), Anyone))
        for method in open_to:
            if target.taker(key) == index and _fails(target, RequestData(method, path=path), key):
                yield f"{method} {path}"


def _fails(target: TargetRules, request: RequestData, key: str) -> bool:
    """Whether a request of nobody fails for want of a user, and for no other reason."""
    try:
        target.rule_set.apply(TargetKeyRewriteData(key, None, request, target.data))
    except RewriteError as error:
        return isinstance(error, UserRequired)
    return False


def _candidates(target: TargetRules, configured: Target, index: int, budget: Budget) -> Iterator[tuple[str, str]]:
    """Mounts, without their closing slash, and keys below them that the rewrite may take."""
    mounts = [path.rstrip("/") for path in configured.mount.paths]
    keys = [target.example(index), *(test.key for test in target.rule_set.tests)]
    for mount in mounts:
        yield from ((mount, key) for key in keys if key)
        yield from ((mount, key) for key in _within(_open_globs(configured), mount, target.rewrites[index], budget))


def _open_globs(configured: Target) -> Iterable[str]:
    return (resource.path for resource in configured.resources if resource.white_list)


def _within(globs: Iterable[str], mount: str, rewrite: Rewrite, budget: Budget) -> Iterator[str]:
    """Keys of an anchored source, below a mount, whose paths a glob covers."""
    from tornado_proxy.routing.access import path_expression  # noqa: PLC0415 - for a configuration only

    text = rewrite.pattern.text
    if not text.startswith("^") or "|" in text:
        return
    paths = language(f"^{re.escape(mount)}{text[1:]}")
    for glob in globs:
        answer = overlap(paths, language(path_expression(glob)), budget.portion(budget.left))
        if isinstance(answer, Example):
            yield answer.key[len(mount) :]


def _finding(rewrite: Rewrite, request: str) -> Diagnostic:
    message = f"this reads the user, but nobody need sign in for {shown(request)}: it is refused with 403"
    advice = "protect the path with a resource that names a provider, or ask `if user` first"
    return Diagnostic(NAME, message, rewrite.statement.template.span, advice, severity=SEVERITY)
