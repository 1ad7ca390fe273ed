"""Everything that the linter looks for: a module for each check, listed once, here.

A check is a module of fixed shape: its docstring is the manual page, with an *Avoid* and a *Prefer* that the tests
run; `NAME`, `CATEGORY` and `SEVERITY` say what it is; `check(subject)` yields its findings. One that needs the
configuration says so with `NEEDS_CONFIGURATION`.
"""

from tornado_proxy.lint.check import Check, check_of
from tornado_proxy.lint.checks import (
    chained_rewrite,
    duplicate_rewrite,
    failing_test,
    kind_change,
    missing_dialect,
    missing_user,
    no_effect,
    overlapping_rewrites,
    percent_encoding,
    query_in_rule,
    refused_result,
    relative_result,
    unanchored_source,
    unescaped_dot,
    unknown_group,
    unknown_target,
    unmatchable_source,
    unreachable_rewrite,
    unsafe_insertion,
    untested_rewrite,
    unused_allowance,
    unused_group,
)

CHECKS: tuple[Check, ...] = tuple(
    check_of(module)
    for module in (
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
        unused_allowance,  # last: it asks what the others were allowed
    )
)
"""All checks, in the order in which they run."""
