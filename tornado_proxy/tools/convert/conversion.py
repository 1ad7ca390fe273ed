"""Converts a configuration of s3-proxy to ours: settings, rule files, pages, and a report on every option."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from secrets import token_urlsafe
from typing import Any

import msgspec
import yaml

from tornado_proxy.config.values import EVERY_INTERFACE
from tornado_proxy.tools.convert import settings as parts
from tornado_proxy.tools.convert.options import (
    WORDS,
    NotConvertible,
    OptionOutcome,
    Options,
    Remark,
    Section,
    Setting,
    Unreadable,
    present,
    where,
)
from tornado_proxy.tools.convert.resources import PRIVATE_NETWORKS, Providers, closed, providers, single_resource
from tornado_proxy.tools.convert.rewrites import KeysAs, rule_text

CONFIGURATION = "tornado-proxy.yaml"
REPORT = "report.md"

NOTES: Mapping[str, str] = WORDS["notes"]
"""The notes that begin reports."""

_LISTENERS = ("server", "internalServer")


class ConversionReport(msgspec.Struct, frozen=True):
    """All remarks in the order of their places, the targets that nobody may use, and what concerns no single option."""

    keys_as: KeysAs | None  # None if not a configuration of s3-proxy was converted
    remarks: tuple[Remark, ...]
    notes: tuple[str, ...] = ()
    closed_targets: tuple[str, ...] = ()
    origin: str = "s3-proxy"

    def of(self, *outcomes: OptionOutcome) -> tuple[Remark, ...]:
        """Returns the remarks with one of these outcomes."""
        return tuple(each for each in self.remarks if each.outcome in outcomes)

    @property
    def complete(self) -> bool:
        """Whether everything has the same effect as before."""
        return not self.of(*_TO_REVIEW)


@dataclass(frozen=True, slots=True)
class Converted:
    """The files by their names below the output directory, and the report."""

    files: Mapping[str, str] = field(repr=False)
    report: ConversionReport


def convert(
    options: Options,
    keys_as: KeysAs = KeysAs.ACTUAL,
    new_key: Callable[[], str] = token_urlsafe,
    read_file: parts.ReadFile = parts.default_page,
) -> Converted:
    """Converts a configuration, with random keys from `new_key`; raises `Unreadable` for one that s3-proxy refuses."""
    root, pages = Section(options), parts.PageConversion(read_file)
    for name in (*_LISTENERS, "log", "authProviders"):
        if name in root:
            root.carried(name, f"as `{name}`")
    templates, sign_in = pages.general(root.section("templates")), providers(root, new_key)
    made = (parts.target(name, each, sign_in, pages, keys_as) for name, each in root.section("targets").named())
    targets = [each for each in made if each]
    files = _rule_files(targets)
    mounts = [path for each in targets for path in each.paths]
    server, internal = (parts.listener(name, root) for name in _LISTENERS)
    timeouts = root.section("server").section("timeouts")
    settings = present(
        {
            "server": {**server, "trustedProxies": list(PRIVATE_NETWORKS)},
            "internalServer": internal,
            "log": parts.log(root),
            "listTargets": _target_list(root.section("listTargets"), sign_in, mounts),
            "limits": present({here: timeouts.duration(name) for name, here in WORDS["timeouts"].items()}),
            "authProviders": sign_in.settings,
            "templates": templates,
            "rules": list(files),  # one by one: the directory may contain files of an earlier conversion
        }
    )
    root.remark_on_the_rest()
    if root.refusals:
        raise Unreadable(*root.refusals)
    remarks = tuple(sorted(root.remarks, key=lambda each: (each.place.source.name, each.place.first.line)))
    notes = ["everyone", keys_as.value, *(["open-admin"] if internal["listenAddr"] in EVERY_INTERFACE else [])]
    closed_targets = tuple(each.name for each in targets if each.closed)
    report = ConversionReport(keys_as, remarks, tuple(map(NOTES.__getitem__, notes)), closed_targets)
    text = NOTES["opening"] + _configuration(settings, targets, report)
    return Converted({CONFIGURATION: text, **files, **pages.files}, report)


def _rule_files(targets: Sequence[parts.ConvertedTarget]) -> dict[str, str]:
    files: dict[str, str] = {}
    for each in targets:
        stem = re.sub(r"[^a-z0-9_-]", "_", each.name.lower())
        if each.entries:  # the names are unique even if case is ignored
            names = (f"rules/{stem}{number}.rules" for number in ("", *(f"-{n}" for n in range(2, len(targets) + 1))))
            files[next(name for name in names if name not in files)] = rule_text(each.name, each.entries)
    return files


def _target_list(section: Section, sign_in: Providers, mounts: Sequence[str]) -> dict[str, Setting]:
    """Converts the page of all targets; it is closed to everyone if its resource has no equivalent."""
    mounted = section.section("mount")
    if not section.flag("enabled"):
        return {}
    if "path" not in mounted:
        section.refused("", "`listTargets` has no `mount` with a `path`")
    settings: dict[str, Setting] = {"enabled": True}
    try:
        settings["mount"] = parts.mount(mounted)
    except NotConvertible as error:
        section.left_out("", f"the page of all targets is left out: {error}")
        return {}
    for path in mounted.texts("path"):
        if path.startswith(tuple(mounts)):
            message = f"other methods, and paths below `{path}`, are those of a target; s3-proxy answers 405 and 404"
            section.changed("mount", message)
    if resource := section.section("resource"):
        settings["resource"] = single_resource(resource, mounted.texts("path"), sign_in) or closed("/", ())[0]
    section.carried("", "as `listTargets`")
    return settings


def _configuration(
    settings: Mapping[str, Setting], targets: Sequence[parts.ConvertedTarget], report: ConversionReport
) -> str:
    # Each listener is on one line, so that a script can find and replace its address and port.
    lines = [f"{name}: {yaml_text(settings[name], on_one_line=True)}" for name in _LISTENERS]
    lines.append(yaml_text({name: each for name, each in settings.items() if name not in _LISTENERS}))
    lines += ["targets:\n"] if targets else []
    for each in targets:
        subject, notes = f"targets.{each.name}", ""
        for remark in report.of(*_TO_REVIEW):
            about = f"{remark.subject.lower()}."
            # Remarks on rewrites are in the rule file.
            if about.startswith(f"{subject}.") and ".keyrewritelist." not in about:
                notes += f"# {where(remark.place)}: {' '.join(remark.message.split())}\n"
        lines.append(textwrap.indent(notes + yaml_text({each.name: each.settings}), "  "))
    return "".join(lines)


def yaml_text(settings: Setting, *, on_one_line: bool = False) -> str:
    """Returns settings as YAML; a collection of scalars is on one line."""
    flow, width = (True, inf) if on_one_line else (None, 120)
    apart = json.loads(json.dumps(settings))  # YAML would write what is the same object once, and refer to it
    return yaml.safe_dump(apart, default_flow_style=flow, width=width, sort_keys=False, allow_unicode=True)


_TO_REVIEW = (OptionOutcome.CLOSED, OptionOutcome.CHANGED, OptionOutcome.LEFT_OUT)


def to_markdown(report: ConversionReport) -> str:
    """Returns the report as Markdown, beginning with the points that need a review."""
    lines = [f"# From {report.origin} to tornado-proxy", "", "\n\n".join(report.notes), ""]
    if report.closed_targets:
        names = ", ".join(f"`{name}`" for name in report.closed_targets)
        lines += [f"**Closed to everyone: {names}.** The access rules of s3-proxy could not be converted.", ""]
    for outcome in WORDS["outcomes"]:
        lines += _paragraphs(report, OptionOutcome(outcome))
    return "\n".join(lines)


def to_text(report: ConversionReport, files: Sequence[str], *, usable: bool = True) -> str:
    """Returns the report for a terminal: the points that need a review, and a count of the others."""
    lines = ["\n\n".join(report.notes), ""]
    for outcome in _TO_REVIEW:
        lines += _paragraphs(report, outcome)
    same, adapted = len(report.of(OptionOutcome.CARRIED)), len(report.of(OptionOutcome.ADAPTED))
    lines.append(f"{same} carried over, {adapted} adapted; the report has them all.")
    if not usable:
        lines.append("`serve --check` refuses these files: mend them first.")
    return "\n".join([*lines, *(f"wrote {name}" for name in files), ""])


def _paragraphs(report: ConversionReport, outcome: OptionOutcome) -> list[str]:
    title, about = WORDS["outcomes"][outcome.value]
    lines = []
    for each in report.of(outcome):
        text = f"{each.message}; {each.help}" if each.help else each.message
        lines.append(f"- {where(each.place)}, `{each.subject}`: {' '.join(text.split())}")
    return [f"## {title}", "", about, "", *lines, ""] if lines else []


def to_json(report: ConversionReport, files: Sequence[str], *, usable: bool = True) -> dict[str, Any]:
    """Returns the report for programs; `version` changes when a field changes its meaning."""
    return {
        "version": 1,
        "complete": report.complete,
        "usable": usable,
        "keysAs": report.keys_as.value if report.keys_as else None,
        "notes": list(report.notes),
        "closedTargets": list(report.closed_targets),
        "files": list(files),
        "remarks": [
            {
                "outcome": each.outcome.value,
                "subject": each.subject,
                "message": each.message,
                "help": each.help,
                "file": each.place.source.name,
                "line": each.place.first.line,
            }
            for each in report.remarks
        ],
    }
