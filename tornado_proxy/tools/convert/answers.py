"""Converts what s3-proxy's server does with every answer: headers about other origins and caches, compression."""

from __future__ import annotations

from collections.abc import Mapping

from tornado_proxy.config import values
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.tools.convert.options import Section, refusal
from tornado_proxy.tools.convert.output import Setting
from tornado_proxy.tools.convert.report import OptionOutcome, Remarks

_LISTS = ("allowOrigins", "allowMethods", "allowHeaders", "exposeHeaders")
_CACHE_HEADERS = ("expires", "cacheControl", "pragma", "xAccelExpires")
_NO_CACHE: Mapping[str, Setting] = {"cache": {"noCacheEnabled": True}}
_COMPRESS: Mapping[str, Setting] = {"compress": {"minSize": 0}}
_LEVEL, _HARDEST = 5, 9  # of compression
_LONGEST_AGE = 86400  # seconds; no browser keeps the answer to a preflight for longer


def answer_headers(server: Section, remarks: Remarks) -> dict[str, Setting]:
    """The options `cors`, `cache` and `compress` of a server."""
    return {**_cors(server, remarks), **_cache(server), **_compress(server, remarks)}


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


def defaults() -> dict[str, Setting]:
    """What s3-proxy does where nothing is said: nothing may be cached, and the smallest answers are compressed."""
    return {**_NO_CACHE, **_COMPRESS}


def _cache(server: Section) -> dict[str, Setting]:
    section = server.section("cache")
    if section is None or section.flag("noCacheEnabled"):
        if section is not None:
            section.settle()
        return dict(_NO_CACHE)
    given: dict[str, Setting] = {name: text for name in _CACHE_HEADERS if (text := section.text(name))}
    return {"cache": given} if given else {}


def _compress(server: Section, remarks: Remarks) -> Mapping[str, Setting]:
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
        remarks.add(OptionOutcome.ADAPTED, f"{section.path}.level", section.place("level"), message)
    if level != _LEVEL:
        found["level"] = min(level, _HARDEST)
    types: list[Setting] = []
    for each in named:
        try:
            types.append(values.media_type(each.value))
        except InvalidValue as misfit:
            message = f"a type {misfit.message}"
            remarks.add(OptionOutcome.LEFT_OUT, f"{section.path}.types", each.place, message, misfit.help)
    return {"compress": found | ({"types": types} if types else {})}
