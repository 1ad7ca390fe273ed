"""What a rule test comes to: the key that its rules make, held against the one that it expects."""

from __future__ import annotations

from dataclasses import dataclass

from tornado_proxy.lang.tree import Verdict
from tornado_proxy.rules.errors import RewriteError
from tornado_proxy.rules.model import Rewritten, RuleSet, RuleTest
from tornado_proxy.rules.rewrite import Rewrite
from tornado_proxy.templates.data import RequestData, TargetData, TargetKeyRewriteData


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """A rule test and what became of its key: rewritten or left as it is, or else why there is none."""

    __test__ = False  # the name is the language's, not pytest's

    test: RuleTest
    got: Rewritten | RewriteError

    @property
    def rewrite(self) -> Rewrite | None:
        """The rewrite that took the key; None where none matched."""
        return self.got.rewrite

    @property
    def passed(self) -> bool:
        """Whether what became of the key is what the test expects."""
        if isinstance(self.got, RewriteError):
            return self.test.expected is Verdict.ERROR
        if self.test.expected is Verdict.UNCHANGED:
            return self.got.rewrite is None
        return self.got.key == self.test.expected


def evaluate(rule_set: RuleSet, test: RuleTest, target: TargetData | None = None) -> TestOutcome:
    """Ask the rules of a target what its test asks; what a configuration says of the target is unknown without one."""
    known = target or TargetData(name=rule_set.target)
    # Templates see the whole path of a request; the key is what lies below the mount.
    mount = known.mount_paths[0].removesuffix("/") if known.mount_paths else ""
    request = RequestData(method=test.method, host=test.host, path=mount + test.key, headers=test.headers)
    try:
        return TestOutcome(test, rule_set.apply(TargetKeyRewriteData(test.key, test.user, request, known)))
    except RewriteError as error:
        return TestOutcome(test, error)
