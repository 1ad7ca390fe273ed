"""The limits of the linter: the steps of its searches."""

from __future__ import annotations

REACH_STEPS = 1_000_000
"""Steps of the search of what reaches a rewrite, for each target."""
LONGEST_QUOTED = 80
"""Characters of a text that a finding quotes."""

OVERLAP_STEPS = 400_000
"""Steps of the search for overlapping rewrites, for each target."""
EFFECT_STEPS = 300_000
"""Steps of the search for rewrites without effect, for each target."""
EARLIER_SHOWN = 3
"""Earlier rewrites in the notes of a finding."""
ORDER_STEPS = 100_000
"""Steps, for all targets together, of the search for missing slashes, and of comparing sources."""

KIND_STEPS = 300_000
"""Steps of the search for results of another kind, for each target."""

OPEN_PATH_STEPS = 200_000
"""Steps of the search of open paths, in all targets together."""
MOST_NAMES_TRIED = 50
"""Names of a template that are tried, each with up to eight renderings."""

LONGEST_COPIED_TEST = 200
"""Characters of a test that is worth copying."""

ROUNDS_OF_FIXES = 20
"""Rounds of fixes: one fix may make another one possible."""

MOST_LISTED = 4
"""Keys in lists that are passed over in the search for one that reaches a rewrite."""
MOST_HOPS = 20
"""Redirects that browsers follow: Chromium and Firefox give up at the next."""
LOOP_STEPS = 100_000
"""Steps of the search for redirects that lead to one another, for each target."""
