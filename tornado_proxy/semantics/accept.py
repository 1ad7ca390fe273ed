"""Which representation a client would rather have: the Accept header (RFC 9110 12.5.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - a grammar rule (RFC 9110 5.6.2), no secret
_QUOTED = r'"(?:[^"\\]|\\.)*"'
# Blanks are taken possessively: two runs of them that meet would take quadratic time to fail.
_PARAMETER = rf"[ \t]*+;[ \t]*+(?:{_TOKEN}=(?:{_TOKEN}|{_QUOTED}))?"
_MEMBER = re.compile(rf"[ \t]*+(?P<range>{_TOKEN}/{_TOKEN})(?P<parameters>(?:{_PARAMETER})*+)[ \t]*")
# A quote that is not closed takes all that follows. Were it refused instead, each of many would be tried to the end.
_BETWEEN_COMMAS = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*+(?:"|\\?\Z))++', re.DOTALL)
_WEIGHT = re.compile(r";[ \t]*q=(?P<weight>[^; \t]*)", re.IGNORECASE)
_QVALUE = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")


def negotiate(accept: str | None, offers: Sequence[str]) -> str:
    """The media type that the client weighs highest; of equals, the one offered first.

    A client that accepts none of them gets the first all the same: an answer in a form that was not asked for helps
    more than a 406 does, and RFC 9110 12.5.1 leaves the choice. Parameters other than `q` tell no offers apart.
    """
    ranges = dict(_weights(accept or "*/*"))
    return max(offers, key=lambda offer: _weight(offer, ranges))


def _weight(offer: str, ranges: dict[str, float]) -> float:
    """What the most specific range that covers a media type says of it; 0 where none does."""
    main, _, _ = offer.partition("/")
    return next((ranges[each] for each in (offer, f"{main}/*", "*/*") if each in ranges), 0.0)


def _weights(accept: str) -> Iterator[tuple[str, float]]:
    """The media ranges and their weights; members that are ill-formed are passed over."""
    for text in _BETWEEN_COMMAS.findall(accept):
        member = _MEMBER.fullmatch(text)
        weight = _WEIGHT.search(member["parameters"]) if member else None
        if member and (weight is None or _QVALUE.fullmatch(weight["weight"])):
            yield member["range"].lower(), float(weight["weight"]) if weight else 1.0
