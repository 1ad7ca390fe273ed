"""What the linter prints: a function `render(report)` for each format, from findings to text.

Lines and columns count from 1 in every format, columns in code points; an end is the place after the last character.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import cast

from tornado_proxy.lint.engine import LintReport

FORMATS = ("full", "concise", "json", "github", "gitlab", "sarif", "junit")
"""The formats; the module of one is imported when it is asked for, with what it needs."""

_FUNCTIONS = {"full": ("text", "render_full"), "concise": ("text", "render_concise"), "json": ("as_json", "render")}


def reporter(name: str) -> Callable[[LintReport], str]:
    """The function that makes the text of a format."""
    module, function = _FUNCTIONS.get(name, (name, "render"))
    return cast("Callable[[LintReport], str]", getattr(importlib.import_module(f"{__name__}.{module}"), function))
