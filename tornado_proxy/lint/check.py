"""What a check is: a module of fixed shape, whose docstring is its manual page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from types import ModuleType

from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.lint.subject import Subject


class Category(Enum):
    """What a check's findings have in common; a category may stand for all its checks."""

    MISTAKES = "mistakes"  # cannot be meant
    DOUBTS = "doubts"  # may be meant, and often is not
    SECURITY = "security"  # a client may reach, or be refused, what its author did not think of
    TESTS = "tests"  # what the tests beside the rules say, or fail to say
    UPKEEP = "upkeep"  # what was once of use and no longer is


@dataclass(frozen=True, slots=True)
class Check:
    """Something that the linter looks for; `name` reads well after "allow".

    A check that needs a configuration finds nothing without one, and nothing is concluded from its silence.
    """

    name: str
    category: Category
    severity: Severity
    manual: str = field(repr=False)
    look: Callable[[Subject], Iterator[Diagnostic]] = field(repr=False)
    needs_configuration: bool = False

    @property
    def summary(self) -> str:
        """The first sentence of its manual page."""
        return self.manual.partition("\n")[0]


def check_name(module_name: str) -> str:
    """The name of the check that a module is: `…checks.unescaped_dot` is `unescaped-dot`."""
    return module_name.rpartition(".")[2].replace("_", "-")


def check_of(module: ModuleType) -> Check:
    """The check that a module is."""
    return Check(
        module.NAME,
        module.CATEGORY,
        module.SEVERITY,
        (module.__doc__ or "").strip(),
        module.check,
        needs_configuration=getattr(module, "NEEDS_CONFIGURATION", False),
    )
