"""Converts the options of the whole service; a table has the remarks on those that differ here or do not exist."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tornado_proxy.config import values
from tornado_proxy.config.quantities import DAY
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.tools.convert.options import (
    WORDS,
    OptionOutcome,
    Section,
    Setting,
    key_pair,
    present,
    remark_on_relative,
)

_LOOPBACK = "127.0.0.1"
_PORTS = {"server": 8080, "internalServer": 9090}
_FILE_ENDINGS = {"certificate": "crt", "privateKey": "key"}  # with the endings of their files
_DEFAULT_LEVEL, _HIGHEST_LEVEL = 5, 9
_LONGEST_AGE = 86400  # seconds; no browser keeps the answer to a preflight for longer


def listener(name: str, root: Section, files: dict[str, str]) -> dict[str, Setting]:
    """Converts `server` or `internalServer`; texts of certificates and keys are added to `files`."""
    section = root.section(name)
    settings: dict[str, Setting] = {"listenAddr": _address(section), "port": section.whole("port", _PORTS[name])}
    settings |= _ssl(section, files)
    if name == "server":
        settings |= _cors(section) | _cache(section) | {"compress": _compression(section)}
    return settings


def _address(section: Section) -> str:
    address = section.text("listenAddr")
    try:
        return values.listen_address(address)
    except InvalidValue as misfit:
        message = f"`{address}` {misfit.message}: the service listens on {_LOOPBACK} now"
        section.remark(OptionOutcome.CHANGED, "listenAddr", message)
        return _LOOPBACK


def _ssl(server: Section, files: dict[str, str]) -> dict[str, Setting]:
    section = server.enabled("ssl")
    if not section:
        return {}
    certificates = [
        _certificate(each, f"certificates/{server.path}-{number}", files)
        for number, each in enumerate(section.sections("certificates"), start=1)
    ]
    settings = section.copied(texts=("minTLSVersion", "maxTLSVersion"), lists=("selfSignedHostnames", "cipherSuites"))
    return {"ssl": present({"certificates": certificates}) | settings}


def _certificate(section: Section, stem: str, files: dict[str, str]) -> dict[str, Setting]:
    settings: dict[str, Setting] = {}
    for name, ending in _FILE_ENDINGS.items():
        if text := section.text(name):
            files[f"{stem}.{ending}"] = text
            settings[f"{name}Url"] = f"{stem}.{ending}"
            continue
        settings |= section.copied(texts=(f"{name}Url",))
        remark_on_relative(section, f"{name}Url")
        if config := section.section(f"{name}UrlConfig"):
            settings[f"{name}UrlConfig"] = _url_config(config)
    return settings


def _url_config(section: Section) -> dict[str, Setting]:
    settings = section.copied(texts=("awsRegion", "awsEndpoint"), flags=("awsDisableSSL",))
    if duration := section.seconds("httpTimeout"):
        settings["httpTimeout"] = f"{duration * 1000:.0f}ms"
    return settings | present({"awsCredentials": key_pair(section.section("awsCredentials"))})


def _cors(server: Section) -> dict[str, Setting]:
    section = server.enabled("cors")
    if not section:
        return {}
    section.flag("debug")  # concerns s3-proxy's log only
    settings = section.copied(
        flags=("enabled", "allowAll", "allowCredentials", "optionsPassthrough"),
        lists=("allowOrigins", "allowMethods", "allowHeaders", "exposeHeaders"),
    )
    if age := _at_most(_LONGEST_AGE, section, "maxAge", 0):
        settings["maxAge"] = max(0, age)
    return {"cors": settings}


def _at_most(most: int, section: Section, name: str, default: int) -> int:
    number = section.whole(name, default)
    if number > most:
        section.remark(OptionOutcome.ADAPTED, name, f"`{number}` is `{most}` here, which has the same effect")
    return min(number, most)


def _cache(server: Section) -> dict[str, Setting]:
    section = server.section("cache")
    if not section or section.flag("noCacheEnabled"):
        section.settle()
        return {"cache": {"noCacheEnabled": True}}
    headers = section.copied(texts=("expires", "cacheControl", "pragma", "xAccelExpires"))
    return {"cache": headers} if headers else {}


def _compression(server: Section) -> Mapping[str, Setting]:
    section = server.section("compress")
    if not section.flag("enabled", default=True):
        section.settle()
        return {"enabled": False}
    settings: dict[str, Setting] = {"minSize": 0}  # s3-proxy compresses the smallest answers too
    level = _at_most(_HIGHEST_LEVEL, section, "level", _DEFAULT_LEVEL)
    if level != _DEFAULT_LEVEL:
        settings["level"] = level
    types: list[Setting] = []
    for each in section.texts("types"):
        try:
            types.append(values.media_type(each))
        except InvalidValue as misfit:
            section.remark(OptionOutcome.LEFT_OUT, "types", f"a type {misfit.message}", misfit.help)
    return settings | present({"types": types})


_SHORTEST = 0.1  # seconds

# s3-proxy's time-outs: our names, and the differences of ours.
_TIMEOUTS = {
    "idleTimeout": ("idleTimeout", ""),
    "readHeaderTimeout": ("headerTimeout", ""),
    "readTimeout": ("bodyTimeout", "how long a client may send nothing, not how long a whole request may take"),
    "writeTimeout": ("sendTimeout", "how long a client may take nothing, not how long a whole answer may take"),
}


def limits(root: Section) -> dict[str, Setting]:
    """Converts the time-outs of the server; ours bound the time without progress, not a whole request or answer."""
    timeouts = root.section("server").section("timeouts")
    settings: dict[str, Setting] = {}
    for name, (here, difference) in _TIMEOUTS.items():
        duration = timeouts.seconds(name)
        if duration and not _SHORTEST <= duration <= DAY:
            message = f"`{timeouts.text(name)}` is not between a tenth of a second and a day"
            timeouts.remark(OptionOutcome.LEFT_OUT, name, message)
        elif duration:
            settings[here] = int(duration) if duration == int(duration) else f"{duration * 1000:.0f}ms"
            if difference:
                timeouts.remark(OptionOutcome.CHANGED, name, f"`limits.{here}` is {difference}")
    return settings


LEVELS = {
    **{each: each for each in ("debug", "info", "warning", "error")},
    "trace": "debug",
    "warn": "warning",
    "fatal": "error",
    "panic": "error",
}
"""Our level for each of s3-proxy's."""


def log(root: Section) -> dict[str, Setting]:
    """Converts the log, which is JSON by default in s3-proxy."""
    section = root.section("log")
    level = section.text("level", "info")
    here = LEVELS[level.lower()]
    if here != level:
        section.remark(OptionOutcome.ADAPTED, "level", f"the level `{level}` is `{here}` here")
    return {"level": here, "format": "json" if section.text("format", "json") == "json" else "text"}


_FATES = tuple(
    (re.compile(pattern, re.IGNORECASE), OptionOutcome(outcome), message)
    for outcome, messages in WORDS["options"].items()
    for pattern, message in messages.items()
)
UNKNOWN = "this is not a known option of s3-proxy"


def fate(path: str) -> tuple[OptionOutcome, str]:
    """Returns the outcome for an option that no other part converts, and the reason."""
    fates = ((outcome, message) for pattern, outcome, message in _FATES if pattern.fullmatch(path))
    return next(fates, (OptionOutcome.LEFT_OUT, UNKNOWN))
