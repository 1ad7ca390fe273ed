"""Which blocks of rule files belong to a target that a configuration names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from tornado_proxy.lang.diagnostic import Diagnostic, Edit, Fix, Safety
from tornado_proxy.lang.suggestion import did_you_mean
from tornado_proxy.lang.tree import Document, Literal
from tornado_proxy.lang.writing import name_text


def unknown_targets(documents: Iterable[Document], names: Collection[str]) -> Iterator[Diagnostic]:
    """What is wrong with blocks of targets that the configuration does not name."""
    for block in (block for document in documents for block in document.blocks):
        if block.name.value not in names:
            yield _unknown(block.name, names)


def _unknown(name: Literal, names: Collection[str]) -> Diagnostic:
    meant = did_you_mean(name.value, names)
    cure = f"did you mean `{meant}`?" if meant else "name it in `targets` of the configuration"
    message = f"the configuration knows no target `{name.value}`"
    return Diagnostic("unknown-target", message, name.span, cure, fixes=_fixes(name, meant))


def _fixes(name: Literal, meant: str | None) -> tuple[Fix, ...]:
    if meant is None:
        return ()
    return (Fix(f"call it `{meant}`", (Edit(name.span, name_text(Literal(meant, name.span))),), Safety.UNSAFE),)
