"""Diagnostics on standard error, each with its excerpt."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TextIO

from tornado_proxy.lang.diagnostic import Diagnostic


def show(diagnostics: Iterable[Diagnostic]) -> None:
    """Print diagnostics in full."""
    from tornado_proxy.lang.excerpt import render  # noqa: PLC0415 - only where there is something to show

    color = in_color(sys.stderr)
    for each in diagnostics:
        print(render(each, color=color), file=sys.stderr)


def in_color(stream: TextIO) -> bool:
    """Whether a person may be reading who likes colours (https://no-color.org, https://force-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or obeys(stream)


def obeys(stream: TextIO) -> bool:
    """Whether a stream is a terminal that knows more than to print one line after another."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"
