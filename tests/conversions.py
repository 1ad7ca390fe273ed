"""Functions that convert configurations of s3-proxy and load the result."""

from pathlib import Path
from typing import NamedTuple

import yaml

from tornado_proxy.config.loading import compile_configuration
from tornado_proxy.config.model import Settings
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.rules.diagnostic import SourceFile
from tornado_proxy.rules.loading import RuleFile, compile_rule_files
from tornado_proxy.tools.convert.conversion import CONFIGURATION, ConversionReport, convert
from tornado_proxy.tools.convert.hosting import convert_redirects
from tornado_proxy.tools.convert.options import OptionOutcome, together
from tornado_proxy.tools.convert.rewrites import KeysAs


class Conversion(NamedTuple):
    """The result of a conversion: its files, the settings and rule sets loaded from them, and its report."""

    files: dict[str, str]
    settings: Settings
    rule_sets: dict
    report: ConversionReport

    @property
    def document(self):
        """The written configuration as plain data."""
        return yaml.safe_load(self.files[CONFIGURATION])

    def messages(self, *outcomes):
        """The messages about options with these outcomes, or with any."""
        return [remark.message for remark in self.report.of(*(outcomes or tuple(OptionOutcome)))]

    def subjects(self, *outcomes):
        """The options with these outcomes."""
        return [remark.subject for remark in self.report.of(*outcomes)]


def converted(*texts: str, keys_as: KeysAs = KeysAs.ACTUAL) -> Conversion:
    """Converts the files of one configuration; the configuration and rule files must load without an error."""
    sources = [SourceFile(f"{number}.yaml", text) for number, text in enumerate(texts)]
    conversion = convert(together(sources), keys_as)
    files, report = conversion.files, conversion.report
    loaded = compile_configuration(SourceFile(CONFIGURATION, files[CONFIGURATION]), Path("out"), unresolved)
    assert loaded.settings, [(diagnostic.message, diagnostic.place) for diagnostic in loaded.diagnostics]
    rule_files = [RuleFile(name, text.encode()) for name, text in files.items() if name.startswith("rules/")]
    rules = compile_rule_files(rule_files)
    assert rules.diagnostics == ()
    return Conversion(dict(files), loaded.settings, dict(rules.rule_sets), report)


BASIC = "basic: {staff: {realm: Staff}}"


def converted_target(text: str, keys_as: KeysAs = KeysAs.ACTUAL, providers: str = BASIC) -> Conversion:
    """Converts a configuration of one target with these options; its mount and bucket are added."""
    indented = "".join(f"    {line}\n" for line in text.splitlines())
    base = "targets:\n  site:\n    mount: {path: [/]}\n    bucket: {name: my-bucket}\n"
    return converted(f"authProviders: {{{providers}}}\n{base}{indented}", keys_as=keys_as)


def converted_redirects(*texts: str, origin: str, lists: bool = True):
    """Returns the rules that files of redirects become, the names of their lists, and the report."""
    sources = [SourceFile(f"file{number or ''}", text) for number, text in enumerate(texts)]
    done = convert_redirects(sources, origin, "site", lists=lists)
    files = {name: text.encode() for name, text in done.files.items()}
    made = compile_rule_files([RuleFile("site.rules", files.pop("site.rules"))], list_file=files.__getitem__)
    assert made.diagnostics == (), made.diagnostics
    return made.rule_sets["site"], sorted(files), done.report
