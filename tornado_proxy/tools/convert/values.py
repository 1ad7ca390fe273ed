"""Converts single values: Go durations and references to secrets."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import PurePosixPath

from tornado_proxy.config.values import VARIABLE
from tornado_proxy.tools.convert.options import Section, refusal
from tornado_proxy.tools.convert.output import Setting
from tornado_proxy.tools.convert.report import OptionOutcome, Remarks

_UNITS = {
    "h": Decimal(3600),
    "m": Decimal(60),
    "s": Decimal(1),
    "ms": Decimal("1e-3"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "μs": Decimal("1e-6"),
    "ns": Decimal("1e-9"),
}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ms|us|µs|μs|ns|h|m|s)")


def seconds(section: Section, name: str) -> Decimal:
    """The seconds of an option that is a duration; raises `Unreadable` for an invalid one."""
    text = section.text(name)
    found = parsed_duration(text)
    if found is None:
        raise refusal(section.place(name), f"`{text}` is not a duration, so that s3-proxy does not start")
    return found


def parsed_duration(text: str) -> Decimal | None:
    """The seconds of a duration, as Go's time.ParseDuration reads it; None for an invalid one."""
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    if unsigned == "0":
        return Decimal(0)
    parts = _PART.findall(unsigned)
    if not parts or "".join(number + unit for number, unit in parts) != unsigned:
        return None
    total = sum((Decimal(number.rstrip(".")) * _UNITS[unit] for number, unit in parts), Decimal(0))
    return -total if text.startswith("-") else total


_VARIABLE = re.compile(VARIABLE)
_LIKE_A_HASH = re.compile(r"\$(?:2[abxy]?|argon2(?:id|i|d))\$")


def reference(section: Section | None, remarks: Remarks) -> Setting | None:
    """The reference to a secret; None without one that can be converted.

    Of several, s3-proxy takes a file first, then the environment.
    """
    if section is None:
        return None
    path, variable, value = section.text("path"), section.text("env"), section.text("value")
    if path:
        _remark_on_path(path, section, remarks)
        return {"path": path}
    if variable:
        if _VARIABLE.fullmatch(variable):
            return {"env": variable}
        remarks.add(
            OptionOutcome.LEFT_OUT, section.path, section.place("env"), "this is not the name of a variable here"
        )
        return None
    return {"value": value} if value else None


def _remark_on_path(path: str, section: Section, remarks: Remarks) -> None:
    if not PurePosixPath(path).is_absolute():
        message = f"`{path}` starts from the directory of the configuration file, not from the working directory"
        remarks.add(OptionOutcome.CHANGED, f"{section.path}.path", section.place("path"), message, "write it in full")


def password(section: Section | None, remarks: Remarks) -> Setting | None:
    """The reference to a password; None too where its text would be taken for a hash: s3-proxy knows no hashes."""
    found = reference(section, remarks)
    if section is not None and isinstance(found, dict) and _LIKE_A_HASH.match(str(found.get("value", ""))):
        message = "the password looks like a hash, and would be taken for one"
        remarks.add(OptionOutcome.LEFT_OUT, section.path, section.place("value"), message, "write its hash instead")
        return None
    return found
