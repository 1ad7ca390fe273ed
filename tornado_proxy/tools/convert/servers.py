"""Converts s3-proxy's two servers and its log, and gives the reason for each option without an equivalent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from tornado_proxy.config import values
from tornado_proxy.config.quantities import DAY
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.tools.convert.answers import answer_headers, defaults
from tornado_proxy.tools.convert.options import Section, refusal
from tornado_proxy.tools.convert.output import Setting
from tornado_proxy.tools.convert.report import OptionOutcome, Remarks
from tornado_proxy.tools.convert.tls import ssl
from tornado_proxy.tools.convert.values import seconds

_LOOPBACK = "127.0.0.1"
_PORTS = {"server": 8080, "internalServer": 9090}
_LEVELS = {
    "trace": "debug",
    "debug": "debug",
    "info": "info",
    "warn": "warning",
    "warning": "warning",
    "error": "error",
    "fatal": "error",
    "panic": "error",
}


def listener(name: str, root: Section, files: dict[str, str], remarks: Remarks) -> Mapping[str, Setting]:
    """Where a server listens: on every interface by default. Certificates are added to `files`.

    Raises `Unreadable`.
    """
    section = root.section(name)
    if section is None:
        return {"listenAddr": "", "port": _PORTS[name], **(defaults() if name == "server" else {})}
    address, port = section.text("listenAddr"), section.whole("port", _PORTS[name])
    if not port:
        raise refusal(section.place("port"), f"`{section.path}.port` is 0, so that s3-proxy does not start")
    found: dict[str, Setting] = {"listenAddr": _address(address, section, remarks), "port": port}
    found |= ssl(section, files, remarks)
    return found | (answer_headers(section, remarks) if name == "server" else {})


def _address(address: str, section: Section, remarks: Remarks) -> str:
    try:
        return values.listen_address(address)
    except InvalidValue as misfit:
        message = f"`{address}` {misfit.message}: it listens on {_LOOPBACK} now"
        remarks.add(OptionOutcome.CHANGED, f"{section.path}.listenAddr", section.place("listenAddr"), message)
        return _LOOPBACK


_TIMEOUTS = {
    "idleTimeout": ("idleTimeout", ""),
    "readHeaderTimeout": ("headerTimeout", ""),
    "readTimeout": ("bodyTimeout", "how long a client may send nothing, not how long a whole request may take"),
    "writeTimeout": ("sendTimeout", "how long a client may take nothing, not how long a whole answer may take"),
}


def limits(root: Section, remarks: Remarks) -> Mapping[str, Setting]:
    """What bounds a connection; a whole request or answer is not bounded, so that large files and slow lines do."""
    server = root.section("server")
    timeouts = server.section("timeouts") if server else None
    found: dict[str, Setting] = {}
    for name, (here, difference) in _TIMEOUTS.items() if timeouts else ():
        assert timeouts is not None
        text = timeouts.text(name)
        duration = seconds(timeouts, name) if text else Decimal(0)
        path, place = f"{timeouts.path}.{name}", timeouts.place(name)
        if not (duration == 0 or 1 <= duration <= DAY):
            message = f"`{text}` is not within a second and a day"
            remarks.add(OptionOutcome.LEFT_OUT, path, place, message)
        elif duration:
            found[here] = int(duration)
            if difference:
                remarks.add(OptionOutcome.CHANGED, path, place, f"`limits.{here}` is {difference}")
    return found


def log(root: Section, remarks: Remarks) -> Mapping[str, Setting]:
    """The log; s3-proxy's is JSON by default."""
    section = root.section("log")
    level = section.text("level", "info") if section else "info"
    form = section.text("format", "json") if section else "json"
    here = _LEVELS.get(level.lower(), "")
    if section and not here:
        raise refusal(section.place("level"), f"`{level}` is not a level, so that s3-proxy does not start")
    if section and here != level:
        message = f"the level `{level}` is `{here}` here"
        remarks.add(OptionOutcome.ADAPTED, f"{section.path}.level", section.place("level"), message)
    return {"level": here, "format": "json" if form == "json" else "text"}


_REASONS: tuple[tuple[str, str], ...] = (
    (r"tracing(\..*)?", "traces are sent by OTLP over HTTP here: write `tracing` with its `endpoint`"),
    (r"metrics(\..*)?", "no metric is labelled with a path"),
    (r"log\.filePath", "the log goes to standard error, where systemd or a container takes it"),
    (
        r"internalServer\.(cors|cache|compress)(\..*)?",
        "the admin listener is for programs: nothing of it is cached or compressed",
    ),
    (r"internalServer\.timeouts\..*", "the admin listener has time-outs of its own"),
    (r"targets\.[^.]+\.bucket\.requestConfig(\..*)?", "calls to S3 carry no headers of yours"),
    (r"targets\.[^.]+\.bucket\.s3UploadConcurrency", "the parts of an upload are sent one after another"),
    (r"targets\.[^.]+\.bucket\.s3MaxUploadParts", "S3's own limit holds: 10 000 parts"),
    (r"targets\.[^.]+\.bucket\.s3UploadLeavePartsOnError", "no parts are left behind by an upload that fails"),
    (r"targets\.[^.]+\.resources\.provider", "the resource asks nobody to sign in"),
)
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), reason) for pattern, reason in _REASONS)

UNKNOWN = "this is not a known option of s3-proxy"


def reason(path: str) -> str:
    """Why an option has no equal."""
    return next((text for pattern, text in _COMPILED if pattern.fullmatch(path)), UNKNOWN)
