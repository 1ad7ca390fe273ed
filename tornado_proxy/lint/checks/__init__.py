"""All checks of the linter: a function for each check, in a module for each topic, in a single list."""

from tornado_proxy.lint.check import Check
from tornado_proxy.lint.checks.groups import unknown_group, unused_group
from tornado_proxy.lint.checks.names import unknown_target, unused_allowance
from tornado_proxy.lint.checks.order import chained_rewrite, no_effect, overlapping_rewrites
from tornado_proxy.lint.checks.reach import duplicate_rewrite, unmatchable_source, unreachable_rewrite
from tornado_proxy.lint.checks.results import kind_change, refused_result, relative_result
from tornado_proxy.lint.checks.security import missing_user, unsafe_insertion
from tornado_proxy.lint.checks.sources import unanchored_source, unescaped_dot
from tornado_proxy.lint.checks.tests import failing_test, untested_rewrite
from tornado_proxy.lint.checks.texts import missing_dialect, percent_encoding, query_in_rule

CHECKS: tuple[Check, ...] = (
    unknown_target,
    unmatchable_source,
    duplicate_rewrite,
    unreachable_rewrite,
    unknown_group,
    missing_dialect,
    percent_encoding,
    query_in_rule,
    refused_result,
    failing_test,
    unanchored_source,
    unescaped_dot,
    unused_group,
    relative_result,
    kind_change,
    no_effect,
    overlapping_rewrites,
    chained_rewrite,
    unsafe_insertion,
    missing_user,
    untested_rewrite,
    unused_allowance,  # last: it uses the findings of the others
)
"""All checks, in the order in which they run and are listed."""
