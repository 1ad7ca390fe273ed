"""Which functions a template may call, and what is said of a name that is none."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from tornado_proxy.templates.errors import TemplateMistake
from tornado_proxy.templates.golang.calling import Function
from tornado_proxy.templates.golang.expressions import KEYWORDS

# What a rule's template reads, by the names that it has in other dialects.
_DATA: Mapping[str, str] = {
    "user": ".User.Username",
    "username": ".User.Username",
    "email": ".User.GetEmail",
    "request": ".Request",
    "target": ".Target",
    "key": ".Key",
    "groups": ".Groups",
}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The functions by name, and the names that are known and refused, each with the reason."""

    functions: Mapping[str, Function]
    refused: Mapping[str, str] = field(default_factory=dict)

    def check(self, name: str, start: int) -> None:
        """Raise `TemplateMistake` unless a function has that name."""
        if name in self.functions:
            return
        end = start + len(name)
        if name in self.refused:
            raise TemplateMistake(f"the function `{name}` is refused: {self.refused[name]}", start, end)
        if name in KEYWORDS:
            raise TemplateMistake(f"the keyword `{name}` cannot stand here", start, end)
        raise TemplateMistake(f"there is no function `{name}`", start, end, self._cure(name))

    def _cure(self, name: str) -> str | None:
        if name.casefold() in _DATA:
            return f"did you mean `{_DATA[name.casefold()]}`? data is read with a dot before its name"
        meant = difflib.get_close_matches(name, self.functions, n=1)
        return f"did you mean `{meant[0]}`?" if meant else None
