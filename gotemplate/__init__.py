"""What Go reads, in Python: its regular expressions, its templates, and the functions of sprig. See README.md.

A program compiles with `compile_pattern` and `compile_template`, and catches `PatternError`, `TemplateMistake` and
`RenderError`. The modules of the packages `regexp`, `template` and `sprig` have the parts: trees, values, functions.
"""

from gotemplate.regexp.matching import Captures, Expansion, FirstMatch, Pattern, compile_pattern
from gotemplate.regexp.syntax import PatternError
from gotemplate.sprig import compile_template, vocabulary
from gotemplate.template.calling import Function, Vocabulary
from gotemplate.template.errors import LimitError, RenderBudget, RenderError, RenderLimits, TemplateMistake
from gotemplate.template.program import Program
from gotemplate.template.values import ExecutionError, from_python

__all__ = [
    "Captures",
    "ExecutionError",
    "Expansion",
    "FirstMatch",
    "Function",
    "LimitError",
    "Pattern",
    "PatternError",
    "Program",
    "RenderBudget",
    "RenderError",
    "RenderLimits",
    "TemplateMistake",
    "Vocabulary",
    "compile_pattern",
    "compile_template",
    "from_python",
    "vocabulary",
]
