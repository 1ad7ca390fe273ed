"""All checks of the linter: a class for each check, in a module for each topic, in a single list."""

from tornado_proxy.lint.check import Check
from tornado_proxy.lint.checks.groups import UnknownGroup, UnusedGroup
from tornado_proxy.lint.checks.names import UnknownTarget, UnusedAllowance
from tornado_proxy.lint.checks.order import ChainedRewrite, NoEffect, OverlappingRewrites
from tornado_proxy.lint.checks.reach import DuplicateRewrite, UnmatchableSource, UnreachableRewrite
from tornado_proxy.lint.checks.results import KindChange, RelativeResult, UnusableResult
from tornado_proxy.lint.checks.security import MissingUser, UnsafeInsertion
from tornado_proxy.lint.checks.sources import UnanchoredSource, UnescapedDot
from tornado_proxy.lint.checks.tests import FailingTest, UntestedRewrite
from tornado_proxy.lint.checks.texts import MissingDialect, PercentEncoding, QueryInRule

CHECKS: tuple[Check, ...] = (
    UnknownTarget(),
    UnmatchableSource(),
    DuplicateRewrite(),
    UnreachableRewrite(),
    UnknownGroup(),
    MissingDialect(),
    PercentEncoding(),
    QueryInRule(),
    UnusableResult(),
    FailingTest(),
    UnanchoredSource(),
    UnescapedDot(),
    UnusedGroup(),
    RelativeResult(),
    KindChange(),
    NoEffect(),
    OverlappingRewrites(),
    ChainedRewrite(),
    UnsafeInsertion(),
    MissingUser(),
    UntestedRewrite(),
    UnusedAllowance(),  # last: it uses the findings of the others
)
"""All checks, in the order in which they run and are listed."""
