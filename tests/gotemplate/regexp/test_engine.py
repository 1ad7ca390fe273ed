"""RE2 is in memory only where something is matched by it."""

from __future__ import annotations

import subprocess
import sys

_SCRIPT = """
import sys
from gotemplate.regexp.matching import compile_pattern
print("re2" in sys.modules)
compile_pattern("a+")
print("re2" in sys.modules)
"""


def test_re2_is_imported_for_the_first_expression():
    """The modules that compile can be imported without it."""
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
