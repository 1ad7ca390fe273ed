"""Configurations of s3-proxy written in tests, and what they are converted to."""

from pathlib import Path
from typing import NamedTuple

import yaml

from tornado_proxy.config.loading import compile_configuration
from tornado_proxy.config.model import Settings
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.lang.diagnostic import SourceFile
from tornado_proxy.rules.loading import RuleFile, compile_rule_files
from tornado_proxy.tools.convert.conversion import CONFIGURATION, ConversionReport, convert
from tornado_proxy.tools.convert.options import OptionOutcome, together
from tornado_proxy.tools.convert.rewrites import KeysAs


class Made(NamedTuple):
    """What a conversion makes: its files as they are loaded, and its report."""

    files: dict[str, str]
    settings: Settings
    rule_sets: dict
    report: ConversionReport

    @property
    def document(self):
        """The configuration as plain data."""
        return yaml.safe_load(self.files[CONFIGURATION])

    def messages(self, *outcomes):
        """What is said of options with some outcome."""
        return [each.message for each in self.report.of(*(outcomes or tuple(OptionOutcome)))]

    def subjects(self, *outcomes):
        """The options of which something is said."""
        return [each.subject for each in self.report.of(*outcomes)]


def made(*texts: str, keys_as: KeysAs = KeysAs.ACTUAL) -> Made:
    """What texts are converted to; configuration and rule files must load without an error."""
    sources = [SourceFile(f"{number}.yaml", text) for number, text in enumerate(texts)]
    files, report = (done := convert(together(sources), keys_as)).files, done.report
    loaded = compile_configuration(SourceFile(CONFIGURATION, files[CONFIGURATION]), Path("out"), unresolved)
    assert loaded.settings, [(each.message, each.place) for each in loaded.diagnostics]
    rules = compile_rule_files(
        [RuleFile(name, text.encode()) for name, text in files.items() if name.startswith("rules/")]
    )
    assert rules.diagnostics == ()
    return Made(dict(files), loaded.settings, dict(rules.rule_sets), report)


BASIC = "basic: {staff: {realm: Staff}}"


def target(text: str, keys_as: KeysAs = KeysAs.ACTUAL, providers: str = BASIC) -> Made:
    """What a configuration is converted to that has one target, whose mount and bucket are given."""
    indented = "".join(f"    {line}\n" for line in text.splitlines())
    base = "targets:\n  site:\n    mount: {path: [/]}\n    bucket: {name: my-bucket}\n"
    return made(f"authProviders: {{{providers}}}\n{base}{indented}", keys_as=keys_as)
