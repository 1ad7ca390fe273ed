"""Converts the listeners of a configuration: addresses, TLS, and the headers that every answer has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import PurePosixPath

from tornado_proxy.config import values
from tornado_proxy.config.options import DAY
from tornado_proxy.config.tls import file_reference
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.tools.convert.options import OptionOutcome, Section, reference, refusal, seconds
from tornado_proxy.tools.convert.output import Setting

_PARTS = {"certificate": "crt", "privateKey": "key"}  # with the endings of their files


def ssl(server: Section, files: dict[str, str]) -> dict[str, Setting]:
    """The listener's `ssl`, if it is enabled; texts of certificates and keys are added to `files`."""
    section = server.section("ssl")
    if section is None:
        return {}
    if not section.flag("enabled"):
        section.settle()
        return {}
    found: dict[str, Setting] = {}
    certificates = [
        _certificate(each, f"certificates/{server.path}-{number}", files)
        for number, each in enumerate(section.sections("certificates"), start=1)
    ]
    if certificates:
        found["certificates"] = certificates
    if names := [each.value for each in section.texts("selfSignedHostnames")]:
        found["selfSignedHostnames"] = names
    for name in ("minTLSVersion", "maxTLSVersion"):
        if version := section.text(name):
            found[name] = version
    if suites := [each.value for each in section.texts("cipherSuites")]:
        found["cipherSuites"] = suites
    return {"ssl": found}


def _certificate(section: Section, stem: str, files: dict[str, str]) -> Mapping[str, Setting]:
    found: dict[str, Setting] = {}
    for name, ending in _PARTS.items():
        if text := section.text(name):
            files[f"{stem}.{ending}"] = text
            found[f"{name}Url"] = f"{stem}.{ending}"
            if f"{name}Url" in section:
                place = section.place(f"{name}Url")
                raise refusal(place, f"`{name}` and `{name}Url` are both given, so that s3-proxy does not start")
            continue
        if url := section.text(f"{name}Url"):
            found[f"{name}Url"] = url
            _remark_on_file(url, section, f"{name}Url")
        if config := section.section(f"{name}UrlConfig"):
            found[f"{name}UrlConfig"] = _url_config(config)
    return found


def _remark_on_file(url: str, section: Section, name: str) -> None:
    try:
        file = file_reference(url)
    except (InvalidValue, ValueError):
        return  # which is reported when the configuration is loaded, as s3-proxy did
    if file is not None and not PurePosixPath(file.text).is_absolute():
        message = f"`{url}` starts from the directory of the configuration file, not from the working directory"
        section.remark(OptionOutcome.CHANGED, name, message, "write it in full")


def _url_config(section: Section) -> Mapping[str, Setting]:
    found: dict[str, Setting] = {}
    if text := section.text("httpTimeout"):
        duration = seconds(section, "httpTimeout")
        if duration < 0:
            place = section.place("httpTimeout")
            raise refusal(place, f"`{text}` is less than nothing, so that s3-proxy does not start")
        if duration:
            found["httpTimeout"] = f"{duration:f}s"
    for name in ("awsRegion", "awsEndpoint"):
        if text := section.text(name):
            found[name] = text
    if section.flag("awsDisableSSL"):
        found["awsDisableSSL"] = True
    if keys := section.section("awsCredentials"):
        access = reference(keys.section("accessKey"))
        secret = reference(keys.section("secretKey"))
        if access and secret:
            found["awsCredentials"] = {"accessKey": access, "secretKey": secret}
    return found


_LISTS = ("allowOrigins", "allowMethods", "allowHeaders", "exposeHeaders")
_CACHE_HEADERS = ("expires", "cacheControl", "pragma", "xAccelExpires")
_NO_CACHE: Mapping[str, Setting] = {"cache": {"noCacheEnabled": True}}
_COMPRESS: Mapping[str, Setting] = {"compress": {"minSize": 0}}
_LEVEL, _HARDEST = 5, 9  # of compression
_LONGEST_AGE = 86400  # seconds; no browser keeps the answer to a preflight for longer


def answer_headers(server: Section) -> dict[str, Setting]:
    """The options `cors`, `cache` and `compress` of a server."""
    return {**_cors(server), **_cache(server), **_compress(server)}


def _cors(server: Section) -> dict[str, Setting]:
    section = server.section("cors")
    if section is None or not section.flag("enabled"):
        if section is not None:
            section.settle()
        return {}
    found: dict[str, Setting] = {"enabled": True}
    section.flag("debug")  # what it logs there is in no answer
    for name in _LISTS:
        if texts := [each.value for each in section.texts(name)]:
            found[name] = texts
    for name in ("allowAll", "allowCredentials", "optionsPassthrough"):
        if section.flag(name):
            found[name] = True
    if age := section.whole("maxAge", 0):
        found["maxAge"] = max(0, min(age, _LONGEST_AGE))
        if found["maxAge"] != age:
            message = f"`{age}` is `{found['maxAge']}` here: no browser keeps the answer to a preflight for longer"
            section.remark(OptionOutcome.ADAPTED, "maxAge", message)
    return {"cors": found}


def defaults() -> dict[str, Setting]:
    """The default of s3-proxy: nothing may be cached, and the smallest answers are compressed."""
    return {**_NO_CACHE, **_COMPRESS}


def _cache(server: Section) -> dict[str, Setting]:
    section = server.section("cache")
    if section is None or section.flag("noCacheEnabled"):
        if section is not None:
            section.settle()
        return dict(_NO_CACHE)
    given: dict[str, Setting] = {name: text for name in _CACHE_HEADERS if (text := section.text(name))}
    return {"cache": given} if given else {}


def _compress(server: Section) -> Mapping[str, Setting]:
    section = server.section("compress")
    if section is None:
        return _COMPRESS
    found: dict[str, Setting] = {"minSize": 0}
    level, named = section.whole("level", _LEVEL), section.texts("types")
    if level < 1:
        raise refusal(section.place("level"), f"`{section.path}.level` is less than 1")
    if "types" in section and not named:
        raise refusal(section.place("types"), f"`{section.path}.types` is empty")
    if not section.flag("enabled", default=True):
        return {"compress": {"enabled": False}}
    if level > _HARDEST:
        message = f"`{level}` is `{_HARDEST}` here: no level is higher"
        section.remark(OptionOutcome.ADAPTED, "level", message)
    if level != _LEVEL:
        found["level"] = min(level, _HARDEST)
    types: list[Setting] = []
    for each in named:
        try:
            types.append(values.media_type(each.value))
        except InvalidValue as misfit:
            message = f"a type {misfit.message}"
            section.remark(OptionOutcome.LEFT_OUT, "types", message, misfit.help, place=each.place)
    return {"compress": found | ({"types": types} if types else {})}


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


def listener(name: str, root: Section, files: dict[str, str]) -> Mapping[str, Setting]:
    """Where a server listens: on every interface by default. Certificates are added to `files`.

    Raises `Unreadable`.
    """
    section = root.section(name)
    if section is None:
        return {"listenAddr": "", "port": _PORTS[name], **(defaults() if name == "server" else {})}
    address, port = section.text("listenAddr"), section.whole("port", _PORTS[name])
    if not port:
        raise refusal(section.place("port"), f"`{section.path}.port` is 0, so that s3-proxy does not start")
    found: dict[str, Setting] = {"listenAddr": _address(address, section), "port": port}
    found |= ssl(section, files)
    return found | (answer_headers(section) if name == "server" else {})


def _address(address: str, section: Section) -> str:
    try:
        return values.listen_address(address)
    except InvalidValue as misfit:
        message = f"`{address}` {misfit.message}: it listens on {_LOOPBACK} now"
        section.remark(OptionOutcome.CHANGED, "listenAddr", message)
        return _LOOPBACK


_TIMEOUTS = {
    "idleTimeout": ("idleTimeout", ""),
    "readHeaderTimeout": ("headerTimeout", ""),
    "readTimeout": ("bodyTimeout", "how long a client may send nothing, not how long a whole request may take"),
    "writeTimeout": ("sendTimeout", "how long a client may take nothing, not how long a whole answer may take"),
}


def limits(root: Section) -> Mapping[str, Setting]:
    """What bounds a connection; a whole request or answer is not bounded, so that large files and slow lines do."""
    server = root.section("server")
    timeouts = server.section("timeouts") if server else None
    found: dict[str, Setting] = {}
    for name, (here, difference) in _TIMEOUTS.items() if timeouts else ():
        assert timeouts is not None
        text = timeouts.text(name)
        duration = seconds(timeouts, name) if text else Decimal(0)
        if not (duration == 0 or 1 <= duration <= DAY):
            message = f"`{text}` is not within a second and a day"
            timeouts.remark(OptionOutcome.LEFT_OUT, name, message)
        elif duration:
            found[here] = int(duration)
            if difference:
                timeouts.remark(OptionOutcome.CHANGED, name, f"`limits.{here}` is {difference}")
    return found


def log(root: Section) -> Mapping[str, Setting]:
    """The log; s3-proxy's is JSON by default."""
    section = root.section("log")
    level = section.text("level", "info") if section else "info"
    form = section.text("format", "json") if section else "json"
    here = _LEVELS.get(level.lower(), "")
    if section and not here:
        raise refusal(section.place("level"), f"`{level}` is not a level, so that s3-proxy does not start")
    if section and here != level:
        message = f"the level `{level}` is `{here}` here"
        section.remark(OptionOutcome.ADAPTED, "level", message)
    return {"level": here, "format": "json" if form == "json" else "text"}


# What an option asks for is done here in a way of its own.
_OTHERWISE: tuple[tuple[str, str], ...] = (
    (r"metrics(\..*)?", "no metric is labelled with a path"),
    (r"log\.filePath", "the log goes to standard error, where systemd or a container takes it"),
    (r"internalServer\.timeouts\..*", "the admin listener has time-outs of its own"),
    (r"targets\.[^.]+\.bucket\.s3UploadConcurrency", "the parts of an upload are sent one after another"),
    (r"targets\.[^.]+\.bucket\.s3MaxUploadParts", "S3's own limit holds: 10 000 parts"),
    (r"targets\.[^.]+\.bucket\.s3UploadLeavePartsOnError", "no parts are left behind by an upload that fails"),
    (r"targets\.[^.]+\.resources\.provider", "the resource asks nobody to sign in"),
)
_WITHOUT_EQUAL: tuple[tuple[str, str], ...] = (
    (r"tracing(\..*)?", "traces are sent by OTLP over HTTP here: write `tracing` with its `endpoint`"),
    (
        r"internalServer\.(cors|cache|compress)(\..*)?",
        "the admin listener is for programs: nothing of it is cached or compressed",
    ),
    (r"targets\.[^.]+\.bucket\.requestConfig(\..*)?", "calls to S3 carry no headers of yours"),
)
_FATES = tuple(
    (re.compile(pattern, re.IGNORECASE), outcome, message)
    for outcome, table in ((OptionOutcome.CHANGED, _OTHERWISE), (OptionOutcome.LEFT_OUT, _WITHOUT_EQUAL))
    for pattern, message in table
)

UNKNOWN = "this is not a known option of s3-proxy"


def fate(path: str) -> tuple[OptionOutcome, str]:
    """What becomes of an option that is not carried over, and why."""
    found = ((outcome, message) for pattern, outcome, message in _FATES if pattern.fullmatch(path))
    return next(found, (OptionOutcome.LEFT_OUT, UNKNOWN))
