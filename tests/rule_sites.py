"""Sites made of rule texts: targets that are asked without a configuration file."""

from __future__ import annotations

from pathlib import Path

from rule_texts import document

from tornado_proxy.config.actions import Actions, DeleteAction, PutAction
from tornado_proxy.config.model import Bucket, Mount, Target
from tornado_proxy.routing.mounts import Site, sites
from tornado_proxy.rules.compile import compile_documents
from tornado_proxy.rules.model import RuleSet
from tornado_proxy.tools.simulator import LoggedRequest, RequestLog, read_log

EVERYTHING = Actions(put=PutAction(enabled=True), delete=DeleteAction(enabled=True))


def rule_sets(text: str) -> dict[str, RuleSet]:
    """The rule sets of a text that has no mistake."""
    compiled = compile_documents([document(text)])
    assert compiled.diagnostics == ()
    return dict(compiled.rule_sets)


def site(statements: str, name: str = "site", **target) -> Site:
    """A site mounted at `/`, whose rules are the statements."""
    settings = {"mount": Mount(), "bucket": Bucket("files"), "actions": EVERYTHING} | target
    return sites([Target(name, **settings)], rule_sets(f"target {name} {{\n{statements}\n}}"))[0]


def requests(*addresses: str) -> RequestLog:
    """RequestLog of addresses, each asked for once for every time that it is named."""
    log = RequestLog()
    for address in addresses:
        log.requests[LoggedRequest(address)] += 1
    return log


def log_of(path: Path) -> RequestLog:
    """What a file holds."""
    return read_log(path, lambda part: None)
