"""Secrets as references: where a secret stands, and its value only when asked for, never in a `repr`."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Secret:
    """A resolved secret: `origin` says where it came from and may be shown, the value may not."""

    origin: str
    _value: str = field(repr=False)

    def reveal(self) -> str:
        """The secret itself, without the line end that a file or an editor left."""
        return self._value
