"""What the linter prints: a module for each format, each with one function `render(report)` from findings to text.

Lines and columns count from 1 in every format, columns in code points; an end is the place after the last character.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import cast

from tornado_proxy.lint.engine import Report

FORMATS = ("full", "concise", "json", "github", "gitlab", "sarif", "junit")
"""The formats; each is a module of this package, imported when it is asked for, with what it needs."""

_MODULES = {"json": "as_json"}


def reporter(name: str) -> Callable[[Report], str]:
    """What makes the text of a format."""
    module = importlib.import_module(f"{__name__}.{_MODULES.get(name, name)}")
    return cast("Callable[[Report], str]", module.render)
