"""The functions of Masterminds/sprig 3.3 whose result depends only on their arguments, by topic.

Each module has a table `FUNCTIONS`. Functions that read the clock, random numbers, the environment, the network or
files, or that are slow on purpose, are in `REFUSED` with the reason. `randomness` has those that pages may call.
"""

from __future__ import annotations

from collections.abc import Mapping

from tornado_proxy.templates.golang.calling import Function
from tornado_proxy.templates.golang.sprig import basics, dates, encoding, lists, regex, semver, strings, words
from tornado_proxy.templates.golang.standard import INCLUDE

_TOPICS = (basics, dates, encoding, lists, regex, semver, strings, words)


def functions() -> Mapping[str, Function]:
    """Returns the functions by name, with Helm's `include`."""
    return {"include": INCLUDE} | {name: entry for topic in _TOPICS for name, entry in topic.FUNCTIONS.items()}


_CERTIFICATES = ("CA", "CAWithKey", "PrivateKey", "SelfSignedCert", "SelfSignedCertWithKey", "SignedCert")
_RANDOM = ("Alpha", "AlphaNum", "Ascii", "Bytes", "Int", "Numeric")

REFUSED: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("encryptAES", "genSignedCertWithKey", "shuffle", "uuidv4"),
            *(f"gen{each}" for each in _CERTIFICATES),
            *(f"rand{each}" for each in _RANDOM),
        ),
        "its result is random, and a key must be found again",
    ),
    **dict.fromkeys(("ago", "now"), "its result depends on the clock, and a key must be found again"),
    **dict.fromkeys(("env", "expandenv"), "it reads the environment of the service"),
    **dict.fromkeys(("bcrypt", "derivePassword", "htpasswd"), "it is slow on purpose"),
    **dict.fromkeys(("buildCustomCert", "decryptAES"), "rules do not handle keys and ciphers"),
    "getHostByName": "it asks the network",
    "tpl": "it would compile a template at each request; templates are compiled when the rules are loaded",
}
"""The functions of sprig that templates cannot call, each with the reason."""
