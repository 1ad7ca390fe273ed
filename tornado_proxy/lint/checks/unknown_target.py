r"""A block of a target that the configuration does not name.

The daemon refuses to load such a file, since rules that belong nowhere are rules that somebody misses. A configuration
is given with `--config`.

### Avoid

```rules
target sight {
    rewrite `^/start$` -> "/index.html"

    test "/start" -> "/index.html"
}
```

### Prefer

```rules
target site {
    rewrite `^/start$` -> "/index.html"

    test "/start" -> "/index.html"
}
```

### Configuration

```yaml
targets:
  site:
    mount: {path: [/]}
    bucket: {name: files, region: eu-west-1}
```

### Fix

Writes the name of the target that was probably meant. Unsafe: its keys are rewritten by these rules then.
"""

from __future__ import annotations

from collections.abc import Iterator

from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.subject import Subject
from tornado_proxy.rules.compile import unknown_targets

NAME = check_name(__name__)
CATEGORY = Category.MISTAKES
SEVERITY = Severity.ERROR
NEEDS_CONFIGURATION = True


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Compare blocks with the configuration's targets, as the daemon does."""
    if subject.settings is not None:
        yield from unknown_targets(subject.documents, [target.name for target in subject.settings.targets])
