"""Converts what s3-proxy's server says to every client: headers about other origins, and about caches."""

from __future__ import annotations

from tornado_proxy.tools.convert.options import Section
from tornado_proxy.tools.convert.output import Setting
from tornado_proxy.tools.convert.report import OptionOutcome, Remarks

_LISTS = ("allowOrigins", "allowMethods", "allowHeaders", "exposeHeaders")
_CACHE_HEADERS = ("expires", "cacheControl", "pragma", "xAccelExpires")
_LONGEST_AGE = 86400  # seconds; no browser keeps the answer to a preflight for longer


def answer_headers(server: Section, remarks: Remarks) -> dict[str, Setting]:
    """The options `cors` and `cache` of a server; compression that is off is nothing to carry over."""
    compress = server.section("compress")
    if compress is not None:
        if compress.flag("enabled", default=True):
            message = "answers are not compressed: put that in front"
            remarks.add(OptionOutcome.LEFT_OUT, compress.path, server.place("compress"), message)
        compress.settle()
    return {**_cors(server, remarks), **_cache(server)}


def _cors(server: Section, remarks: Remarks) -> dict[str, Setting]:
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
            remarks.add(OptionOutcome.ADAPTED, f"{section.path}.maxAge", section.place("maxAge"), message)
    return {"cors": found}


def no_cache() -> dict[str, Setting]:
    """What s3-proxy sends where nothing is said of caches."""
    return {"cache": {"noCacheEnabled": True}}


def _cache(server: Section) -> dict[str, Setting]:
    section = server.section("cache")
    if section is None or section.flag("noCacheEnabled"):
        if section is not None:
            section.settle()
        return no_cache()
    given: dict[str, Setting] = {name: text for name in _CACHE_HEADERS if (text := section.text(name))}
    return {"cache": given} if given else {}
