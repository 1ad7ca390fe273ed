"""What s3-proxy does for a target, as this project's actions: each is written out, since the defaults differ."""

from __future__ import annotations

from collections.abc import Mapping

from tornado_proxy.config import values
from tornado_proxy.config.quantities import DAY
from tornado_proxy.config.values import Misfit
from tornado_proxy.tools.convert.configuration_text import Setting
from tornado_proxy.tools.convert.durations import seconds
from tornado_proxy.tools.convert.report import Outcome, Remarks
from tornado_proxy.tools.convert.section import Section

METHODS = ("GET", "HEAD", "PUT", "DELETE")

Actions = dict[str, dict[str, Setting]]


def actions(target: Section, remarks: Remarks) -> Actions:
    """The actions of a target; without any, s3-proxy answers GET and nothing else."""
    section = target.section("actions")
    if section is None:
        return {name: {"enabled": name == "GET"} for name in METHODS}
    done: Actions = {}
    for name in METHODS:
        action = section.section(name)
        done[name] = {"enabled": action.flag("enabled") if action else False}
        config = action.section("config") if action else None
        if name == "GET" and config:
            _add(done[name], _get(config, remarks))
        if name == "PUT" and action and done[name]["enabled"]:
            _add(done[name], _put(action, config, remarks))
    return done


def enabled(done: Actions) -> list[str]:
    """The methods that are answered."""
    return [name for name in METHODS if done[name]["enabled"] is True]


def _add(action: dict[str, Setting], config: Mapping[str, Setting]) -> None:
    if config:
        action["config"] = config


def _get(config: Section, remarks: Remarks) -> Mapping[str, Setting]:
    settings: dict[str, Setting] = {}
    index = config.text("indexDocument")
    if index:
        _add_index(index, config, settings, remarks)
    if config.flag("redirectWithTrailingSlashForNotFoundFile"):
        settings["redirectWithTrailingSlashForNotFoundFile"] = True
        message = "a missing file is redirected only where there is a directory of that name; s3-proxy always redirects"
        _changed(config, "redirectWithTrailingSlashForNotFoundFile", message, remarks)
    if config.flag("disableListing"):
        settings["disableListing"] = True
        _changed(config, "disableListing", "a directory is answered with 403; s3-proxy shows an empty one", remarks)
    if config.flag("redirectToSignedUrl"):
        settings["redirectToSignedUrl"] = True
    _add_expiration(config, settings, remarks)
    return settings


def _add_index(index: str, config: Section, settings: dict[str, Setting], remarks: Remarks) -> None:
    try:
        settings["indexDocument"] = values.index_document(index)
    except Misfit as misfit:
        message = f"`{index}` {misfit.message}"
        remarks.add(
            Outcome.LEFT_OUT, f"{config.path}.indexDocument", config.place("indexDocument"), message, misfit.help
        )


def _add_expiration(config: Section, settings: dict[str, Setting], remarks: Remarks) -> None:
    text = config.text("signedUrlExpiration")
    if not text:
        return
    duration = seconds(text)
    if duration is not None and 1 <= duration <= 7 * DAY and duration == int(duration):
        settings["signedUrlExpiration"] = int(duration)
        return
    message = f"`{text}` is no whole number of seconds up to 7 days, which is what S3 takes; it is 15 minutes now"
    remarks.add(Outcome.LEFT_OUT, f"{config.path}.signedUrlExpiration", config.place("signedUrlExpiration"), message)


def _put(action: Section, config: Section | None, remarks: Remarks) -> Mapping[str, Setting]:
    """How uploads are taken, where they are."""
    if config is not None:
        return {"allowOverride": config.flag("allowOverride")}
    message = (
        "files may be replaced, as s3-proxy's code allows where PUT has no `config`; its documentation says that they"
        " may not"
    )
    remarks.add(Outcome.CHANGED, f"{action.path}.config", action.span, message, "is that what you want?")
    return {"allowOverride": True}


def _changed(config: Section, name: str, message: str, remarks: Remarks) -> None:
    remarks.add(Outcome.CHANGED, f"{config.path}.{name}", config.place(name), message)
