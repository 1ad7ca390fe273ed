"""The functions of Masterminds/sprig 3.3 whose result depends only on their arguments, by topic.

Each module has a table `FUNCTIONS`. Functions that read the clock, random numbers, the environment, the network or
files, or that are slow on purpose, are in `REFUSED` with the reason; `basics.RANDOM` has the random ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache

from gotemplate.sprig import basics, dates, encoding, lists, regex, semver, strings
from gotemplate.template.calling import Function, Vocabulary
from gotemplate.template.errors import refuse
from gotemplate.template.fields import UNKNOWN, SampleResults, element
from gotemplate.template.moments import ZERO
from gotemplate.template.program import Program, definitions
from gotemplate.template.standard import INCLUDE, STANDARD
from gotemplate.template.values import Struct

_TOPICS = (basics, dates, encoding, lists, regex, semver, strings)


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
        "its result is random",
    ),
    **dict.fromkeys(("ago", "now"), "its result depends on the clock"),
    **dict.fromkeys(("env", "expandenv"), "it reads the environment of the process"),
    **dict.fromkeys(("bcrypt", "derivePassword", "htpasswd"), "it is slow on purpose"),
    **dict.fromkeys(("buildCustomCert", "decryptAES"), "templates do not handle keys and ciphers"),
    "getHostByName": "it asks the network",
    "tpl": "it would compile a template each time",
}
"""The functions of sprig that templates cannot call, each with the reason."""


_MOMENT, _VERSION = Struct(dates.TIME, ZERO), Struct(semver.VERSION, semver.Version(0, 0, 0))
RESULTS: SampleResults = {
    **dict.fromkeys(
        ("first", "last", "mustFirst", "mustLast"),
        lambda arguments: element(arguments[0]) if len(arguments) == 1 else UNKNOWN,
    ),
    **dict.fromkeys(
        ("now", "toDate", "mustToDate", "dateModify", "date_modify", "mustDateModify", "must_date_modify"),
        lambda _arguments: _MOMENT,
    ),
    "semver": lambda _arguments: _VERSION,
}
"""The functions whose results have a known type, for the check of fields."""


def vocabulary(more: Mapping[str, Function] | None = None, data: Collection[str] = ()) -> Vocabulary:
    """Returns the functions of text/template, of sprig and `more`; `data` names the fields of the outermost dot."""
    available = {**STANDARD, **functions(), **(more or {})}
    refused = {name: reason for name, reason in REFUSED.items() if name not in available}
    return Vocabulary(available, refused, data)


_all = cache(vocabulary)


def compile_template(text: str, helpers: Sequence[str] = (), functions: Vocabulary | None = None) -> Program:
    """Returns the program of a template that may call those defined in helpers; raises `TemplateMistake`.

    The functions are those of text/template and sprig, unless others are given.
    """
    available = functions or _all()
    program = Program(text, available, definitions(tuple(helpers), available))
    refuse([*program.mistakes, *program.certain_failures])
    return program
