"""Rules of one target, loaded from texts with the lists that they name."""

from tornado_proxy.rules.loading import Read, RuleFile, compile_rule_files
from tornado_proxy.rules.model import LoadedRules, RuleSet


def loaded(statements: str, **lists: str) -> LoadedRules:
    """The rules of a target; `m="…"` is the list `m.txt`."""
    files = {f"rules/{name}.txt": text.encode() for name, text in lists.items()}
    rules = RuleFile("rules/site.rules", f"target site {{\n{statements}\n}}\n".encode())
    return compile_rule_files([rules], list_file=Read((), lists=files).list_file)


def rules_of(statements: str, **lists: str) -> RuleSet:
    """The rule set of a target without mistakes."""
    made = loaded(statements, **lists)
    assert made.diagnostics == ()
    return made.rule_sets["site"]


def mistakes_of(statements: str, **lists: str) -> list[tuple[str, str, str]]:
    """The code, place and message of each mistake."""
    return [(each.code, each.place, each.message) for each in loaded(statements, **lists).diagnostics]
