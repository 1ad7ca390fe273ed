"""Converts a whole s3-proxy configuration into this project's files and a report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_urlsafe

from tornado_proxy.tools.convert.options import Options, Section, refusal
from tornado_proxy.tools.convert.output import Noted, OneLine, Setting, configuration_text, rule_text
from tornado_proxy.tools.convert.pages import PageConversion, ReadFile, no_file
from tornado_proxy.tools.convert.report import ConversionReport, KeysAs, OptionOutcome, Remark, Remarks
from tornado_proxy.tools.convert.resources import closed, single_resource
from tornado_proxy.tools.convert.servers import limits, listener, log, reason
from tornado_proxy.tools.convert.sign_in import Providers, providers, trusted_proxies
from tornado_proxy.tools.convert.targets import Conversion, ConvertedTarget, mount, target

CONFIGURATION = "tornado-proxy.yaml"
REPORT = "report.md"

_OPENING = (
    "Made from a configuration of s3-proxy; what became of each option stands in report.md.",
    "Lines that begin with a file and a line number say what to look at.",
)


@dataclass(frozen=True, slots=True)
class Converted:
    """The files by their names within the directory they are written to, and the report."""

    files: Mapping[str, str] = field(repr=False)
    report: ConversionReport


def convert(
    options: Options,
    keys_as: KeysAs = KeysAs.ACTUAL,
    new_key: Callable[[], str] = token_urlsafe,
    read_file: ReadFile = no_file,
) -> Converted:
    """Convert a configuration; raises `Unreadable` where nothing can be made of it.

    `new_key` makes random secrets, `read_file` reads the template files that the configuration names.
    """
    root, remarks = Section(options), Remarks()
    pages = PageConversion(remarks, read_file)
    templates = pages.general(root.section("templates"))
    conversion = Conversion(providers(root, new_key, remarks), keys_as, remarks, pages)
    section = root.section("targets")
    named = section.named() if section else ()
    targets = [each for name, inner in named if (each := target(name, inner, conversion))]
    files: dict[str, str] = {}
    settings = _settings(root, conversion.providers, files, remarks)
    if templates:
        settings["templates"] = templates
    for leftover in root.leftovers():
        remarks.add(OptionOutcome.LEFT_OUT, leftover.path, leftover.place, reason(leftover.path))
    report = ConversionReport(keys_as, remarks.all(), tuple(each.name for each in targets if each.closed))
    return Converted({**_files(settings, targets, report), **files, **pages.files}, report)


def _settings(
    root: Section, given: Providers, files: dict[str, str], remarks: Remarks
) -> dict[str, Setting | Noted | OneLine]:
    settings: dict[str, Setting | Noted | OneLine] = {
        "server": OneLine({**listener("server", root, files, remarks), **trusted_proxies(given, root, remarks)}),
        "internalServer": OneLine(listener("internalServer", root, files, remarks)),
        "log": log(root, remarks),
    }
    if (page := root.section("listTargets")) is not None and page.flag("enabled"):
        settings["listTargets"] = _target_list(page, given, remarks)
    if bounds := limits(root, remarks):
        settings["limits"] = bounds
    if given.settings:
        settings["authProviders"] = given.settings
    for name in ("server", "internalServer", "log", "authProviders"):
        if name in root:
            remarks.add(OptionOutcome.CARRIED, name, root.place(name), f"as `{name}`")
    return settings


def _target_list(section: Section, providers: Providers, remarks: Remarks) -> Setting:
    """The page of all targets; closed to everyone where its resource has no equivalent."""
    where = section.section("mount")
    if where is None:
        raise refusal(section.span, "`listTargets` has no `mount`, so that s3-proxy does not start")
    settings: dict[str, Setting] = {"enabled": True, "mount": mount(where, remarks)}
    given = section.section("resource")
    if given is not None:
        paths = [each.value for each in where.texts("path")]
        settings["resource"] = single_resource(given, paths, providers, remarks) or closed("/", ())[0]
    remarks.add(OptionOutcome.CARRIED, "listTargets", section.span, "as `listTargets`")
    return settings


def _files(
    settings: dict[str, Setting | Noted | OneLine], targets: Sequence[ConvertedTarget], report: ConversionReport
) -> dict[str, str]:
    with_rules = {each.name: place for each, place in zip(targets, _rule_places(targets), strict=True) if each.entries}
    if with_rules:
        # One by one: a directory may hold what an earlier conversion left.
        settings["rules"] = list(with_rules.values())
    if targets:
        settings["targets"] = {each.name: Noted(each.settings, tuple(_notes(each, report))) for each in targets}
    files = {CONFIGURATION: configuration_text(settings, _OPENING)}
    for each in targets:
        if each.name in with_rules:
            files[with_rules[each.name]] = rule_text(each.name, each.entries)
    return files


def _rule_places(targets: Sequence[ConvertedTarget]) -> Iterator[str]:
    """A name for the rule file of each target, unique even where case is ignored."""
    taken: set[str] = set()
    for each in targets:
        stem = re.sub(r"[^A-Za-z0-9_-]", "_", each.name)
        name = next(found for number in range(len(targets) + 1) if (found := _numbered(stem, number)) not in taken)
        taken.add(name)
        yield f"rules/{name}.rules"


def _numbered(stem: str, number: int) -> str:
    return f"{stem}-{number + 1}" if number else stem


def _notes(each: ConvertedTarget, report: ConversionReport) -> Iterator[str]:
    """What there is to look at in a target, but for its rules: those stand in its rule file."""
    subject = f"targets.{each.name}"
    for remark in report.of(OptionOutcome.CHANGED, OptionOutcome.LEFT_OUT, OptionOutcome.CLOSED):
        if _is_about(remark, subject) and ".keyRewriteList" not in remark.subject:
            yield f"{remark.where}: {remark.message}"


def _is_about(remark: Remark, subject: str) -> bool:
    return remark.subject.lower() == subject or remark.subject.lower().startswith(f"{subject}.")
