"""s3-proxy's two servers and its log, as this project's."""

from __future__ import annotations

from collections.abc import Mapping

from tornado_proxy.config import values
from tornado_proxy.config.quantities import DAY
from tornado_proxy.config.values import Misfit
from tornado_proxy.tools.convert.configuration_text import Setting
from tornado_proxy.tools.convert.durations import seconds
from tornado_proxy.tools.convert.report import Outcome, Remarks
from tornado_proxy.tools.convert.section import Section

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


def listener(name: str, root: Section, remarks: Remarks) -> Mapping[str, Setting]:
    """Where a server listens: on every interface, unless told otherwise."""
    section = root.section(name)
    if section is None:
        return {"listenAddr": "", "port": _PORTS[name]}
    address, port = section.text("listenAddr"), section.whole("port", _PORTS[name])
    if _encrypts(section):
        message = f"there is no TLS here: it listens on {_LOOPBACK} only, in the clear"
        cure = "put a server that ends TLS in front of it"
        remarks.add(Outcome.CLOSED, f"{section.path}.ssl", section.place("ssl"), message, cure)
        address = _LOOPBACK
    return {"listenAddr": _address(address, section, remarks), "port": port}


def _encrypts(section: Section) -> bool:
    """Whether a server speaks TLS; what else is said of it is of no use here."""
    ssl = section.section("ssl")
    return ssl is not None and ssl.flag("enabled")


def _address(address: str, section: Section, remarks: Remarks) -> str:
    try:
        return values.listen_address(address)
    except Misfit as misfit:
        message = f"`{address}` {misfit.message}: it listens on {_LOOPBACK} now"
        remarks.add(Outcome.CHANGED, f"{section.path}.listenAddr", section.place("listenAddr"), message)
        return _LOOPBACK


def limits(root: Section, remarks: Remarks) -> Mapping[str, Setting]:
    """What bounds a connection, as far as both have it."""
    server = root.section("server")
    timeouts = server.section("timeouts") if server else None
    text = timeouts.text("idleTimeout") if timeouts else ""
    if not timeouts or not text:
        return {}
    duration = seconds(text)
    if duration is not None and 1 <= duration <= DAY:
        return {"idleTimeout": int(duration)}
    message = f"`{text}` is not within a second and a day"
    remarks.add(Outcome.LEFT_OUT, f"{timeouts.path}.idleTimeout", timeouts.place("idleTimeout"), message)
    return {}


def log(root: Section, remarks: Remarks) -> Mapping[str, Setting]:
    """The log; s3-proxy's is written as JSON unless told otherwise."""
    section = root.section("log")
    level = section.text("level", "info") if section else "info"
    form = section.text("format", "json") if section else "json"
    here = _LEVELS.get(level.lower(), "info")
    if section and here != level:
        message = f"the level `{level}` is `{here}` here"
        remarks.add(Outcome.ADAPTED, f"{section.path}.level", section.place("level"), message)
    return {"level": here, "format": "json" if form == "json" else "text"}
