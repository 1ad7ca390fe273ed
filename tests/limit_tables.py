"""The limits of all layers, read from the modules that have them, and the table of those that the manual names."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
MODULES = sorted(path for folder in ("gotemplate", "tornado_proxy") for path in (ROOT / folder).rglob("limits.py"))

_SHOWN = "In the manual."
_SIZES = (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024))
_TIMES = (("d", 86400), ("h", 3600), ("min", 60))


class Limit(NamedTuple):
    """A limit: its module, its name, its value, and what its docstring says of it."""

    module: Path
    name: str
    value: float
    text: str

    @property
    def is_shown(self) -> bool:
        """Whether the manual names it."""
        return self.text.endswith(_SHOWN)

    @property
    def row(self) -> str:
        """Its row in the table of the manual."""
        return f"| {self._shown_value()} | {self.text.removesuffix(_SHOWN).strip().rstrip('.')} |"

    def _shown_value(self) -> str:
        unit, value = self.text.split()[0], self.value
        for scale in _SIZES if unit == "Bytes" else _TIMES if unit == "Seconds" else ():
            if value >= scale[1] and value % scale[1] == 0:
                return f"{value / scale[1]:,g} {scale[0]}"
        return f"{value:,g}" + (" s" if unit == "Seconds" else " bytes" if unit == "Bytes" else "")


def limits() -> Iterator[Limit]:
    """Yields all limits, by module and in the order of the module."""
    for path in MODULES:
        values: dict[str, object] = {}
        exec(path.read_text(encoding="utf-8"), values)
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for node, following in zip(body, [*body[1:], None], strict=True):
            if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name):
                says = isinstance(following, ast.Expr) and ast.unparse(following.value)
                text = " ".join(str(ast.literal_eval(says)).split()) if says else ""
                yield Limit(path, target.id, float(str(values[target.id])), text)


def table() -> str:
    """Returns the table of docs/operations.md."""
    return "\n".join(("| limit | of what |", "|---|---|", *(each.row for each in limits() if each.is_shown)))
