"""What the admin listener shows of a process: what is in force, and what was refused, fit for JSON."""

from __future__ import annotations

from collections.abc import Mapping

from tornado_proxy.lang.diagnostic import errors
from tornado_proxy.rules.model import RuleSet
from tornado_proxy.service.loading import Loaded
from tornado_proxy.service.reload import Reloader, Report, Standing, rewrite_count
from tornado_proxy.telemetry.diagnostics import fields
from tornado_proxy.telemetry.lines import moment


def report_view(report: Report) -> dict[str, object]:
    """A reload, as `POST /-/reload` answers."""
    return {
        "outcome": report.outcome.value,
        "generation": report.generation,
        "digest": report.digest,
        "at": moment(report.at),
        "seconds": round(report.seconds, 6),
        "changes": list(report.changes),
        "restartNeededFor": list(report.kept_back),
        "diagnostics": [fields(each) for each in report.diagnostics],
    }


def standing_view(reloader: Reloader) -> dict[str, object]:
    """What is in force, and the last attempt that was refused, if the files on disk are still those."""
    standing = reloader.standing
    return {
        **_generation_view(standing),
        "targets": _targets_view(standing.loaded),
        "lastAttempt": report_view(reloader.last) if reloader.last else None,
        "lastFailedAttempt": report_view(reloader.refused) if reloader.refused else None,
    }


def status_line(reloader: Reloader, *, from_last_good: bool) -> str:
    """A process in a line, for `systemctl status`: what is in force, and the first mistake of what is not."""
    standing, last = reloader.standing, reloader.last
    line = f"generation {standing.number}, {rewrite_count(standing.loaded)} rewrites"
    if from_last_good and standing.number == 1 and not (last and last.is_in_force):
        line += ", started from the last good copy"
    if last is None or last.is_in_force:
        return line
    first = next(iter(errors(last.diagnostics)))
    place = f"{first.place}: " if first.place else ""
    return f"{line}; an edit was refused: {place}{first.message}"


def _generation_view(standing: Standing) -> dict[str, object]:
    return {
        "generation": standing.number,
        "digest": standing.loaded.digest,
        "loadedAt": moment(standing.since),
        "files": [str(standing.loaded.places[0]), *standing.loaded.files] if standing.loaded.places else [],
    }


def _targets_view(loaded: Loaded) -> Mapping[str, object]:
    targets = loaded.settings.targets if loaded.settings else ()
    return {
        target.name: {
            "host": target.mount.host,
            "paths": list(target.mount.paths),
            "methods": list(target.actions.methods),
            "rewrites": len(loaded.rule_sets.get(target.name, RuleSet(target.name)).rewrites),
        }
        for target in targets
    }
