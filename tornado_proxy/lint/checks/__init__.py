"""All checks of the linter: a function for each check, in a module for each topic, in a single list."""

from tornado_proxy.lint.check import Check
from tornado_proxy.lint.checks import moved, order, results, texts

CHECKS: tuple[Check, ...] = (
    texts.unknown_target,
    order.unmatchable_source,
    order.duplicate_rewrite,
    order.unreachable_rewrite,
    moved.redirect_loop,
    moved.shadowed_line,
    moved.double_line,
    texts.unknown_group,
    texts.missing_dialect,
    texts.percent_encoding,
    texts.query_in_rule,
    results.refused_result,
    results.failing_test,
    texts.unanchored_source,
    texts.unescaped_dot,
    texts.unused_group,
    results.relative_result,
    results.kind_change,
    order.no_effect,
    order.overlapping_rewrites,
    order.chained_rewrite,
    moved.redirect_to_gone,
    moved.redirect_chain,
    results.unsafe_insertion,
    results.missing_user,
    results.missing_value,
    results.untested_rewrite,
    texts.unused_allowance,  # last: it uses the findings of the others
)
