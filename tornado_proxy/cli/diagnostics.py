"""Diagnostics on standard error, each with its excerpt."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.excerpt import render


def show(diagnostics: Iterable[Diagnostic]) -> None:
    """Print diagnostics in full, in colour where a person may be reading (https://no-color.org)."""
    color = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    for each in diagnostics:
        print(render(each, color=color), file=sys.stderr)
