"""All functions of sprig in one table, and those that rules cannot have, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tornado_proxy.templates.golang.calling import Function
from tornado_proxy.templates.golang.running import INCLUDE
from tornado_proxy.templates.golang.sprig import (
    dates,
    defaults,
    dicts,
    encoding,
    lists,
    maths,
    paths,
    regex,
    semver,
    strings,
    words,
)

_TOPICS = (dates, defaults, dicts, encoding, lists, maths, paths, regex, semver, strings, words)


def functions() -> Mapping[str, Function]:
    """The functions by name; `include` among them, which Helm adds."""
    table: dict[str, Function] = {"include": INCLUDE}
    for topic in _TOPICS:
        table.update(topic.FUNCTIONS)
    return table


_CHANCE = "its result is a matter of chance, and a key must be found again"
_CLOCK = "its result depends on the clock, and a key must be found again"
_ENVIRONMENT = "it reads the environment of the service"
_NETWORK = "it asks the network"
_SLOW = "it is slow on purpose"
_CIPHER = "rules do not handle keys and ciphers"
_TEMPLATE = "it would take data for a template at each request; templates are compiled when the rules are loaded"

REFUSED: Mapping[str, str] = MappingProxyType(
    {
        "ago": _CLOCK,
        "bcrypt": _SLOW,
        "buildCustomCert": _CIPHER,
        "decryptAES": _CIPHER,
        "derivePassword": _SLOW,
        "encryptAES": _CHANCE,
        "env": _ENVIRONMENT,
        "expandenv": _ENVIRONMENT,
        "genCA": _CHANCE,
        "genCAWithKey": _CHANCE,
        "genPrivateKey": _CHANCE,
        "genSelfSignedCert": _CHANCE,
        "genSelfSignedCertWithKey": _CHANCE,
        "genSignedCert": _CHANCE,
        "genSignedCertWithKey": _CHANCE,
        "getHostByName": _NETWORK,
        "htpasswd": _SLOW,
        "now": _CLOCK,
        "randAlpha": _CHANCE,
        "randAlphaNum": _CHANCE,
        "randAscii": _CHANCE,
        "randBytes": _CHANCE,
        "randInt": _CHANCE,
        "randNumeric": _CHANCE,
        "shuffle": _CHANCE,
        "tpl": _TEMPLATE,
        "uuidv4": _CHANCE,
    }
)
