"""Sites and rule sets made from the text of rules, without a configuration file."""

from pathlib import Path

from rule_texts import document

from tornado_proxy.config.actions import Actions, DeleteAction, PutAction
from tornado_proxy.config.model import Bucket, Mount, Target
from tornado_proxy.routing.mounts import Site, sites
from tornado_proxy.rules.loading import compile_documents
from tornado_proxy.rules.model import RuleSet
from tornado_proxy.tools.simulator import LoggedRequest, RequestLog, read_log

EVERYTHING = Actions(put=PutAction(enabled=True), delete=DeleteAction(enabled=True))


def rule_sets(text: str) -> dict[str, RuleSet]:
    """The rule sets of a rule file without mistakes."""
    compiled = compile_documents([document(text)])
    assert compiled.diagnostics == ()
    return dict(compiled.rule_sets)


def site(statements: str, name: str = "site", **target) -> Site:
    """A site mounted at `/`, with these statements as its rules; `target` replaces fields of the target."""
    settings = {"mount": Mount(), "bucket": Bucket("files"), "actions": EVERYTHING} | target
    return sites([Target(name, **settings)], rule_sets(f"target {name} {{\n{statements}\n}}"))[0]


def requests(*addresses: str) -> RequestLog:
    """A log with one request for each address."""
    log = RequestLog()
    for address in addresses:
        log.requests[LoggedRequest(address)] += 1
    return log


def read_request_log(path: Path) -> RequestLog:
    """Reads the log in a file."""
    return read_log(path)
