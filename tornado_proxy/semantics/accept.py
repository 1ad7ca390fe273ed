"""Which representation a client would rather have: Accept and Accept-Encoding (RFC 9110 12.5.1, 12.5.3)."""

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
_CODING = re.compile(rf"[ \t]*+(?P<coding>{_TOKEN})(?:[ \t]*+;[ \t]*+[qQ]=(?P<weight>[0-9.]++))?+[ \t]*")
_QVALUE = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")


def negotiate(accept: str | None, offers: Sequence[str]) -> str:
    """The media type that the client weighs highest; of equals, the one offered first.

    A client that accepts none of them gets the first all the same: an answer in a form that was not asked for helps
    more than a 406 does, and RFC 9110 12.5.1 leaves the choice. Parameters other than `q` tell no offers apart.
    """
    ranges = dict(_weights(accept or "*/*"))
    return max(offers, key=lambda offer: _weight(offer, ranges))


def negotiate_coding(accept: str, offers: Sequence[str]) -> str | None:
    """The content coding that the client weighs highest; of equals, the one offered first. None: no coding.

    A coding that is named counts as much as no coding of the same weight: who names it wants it.
    """
    weights = dict(_coding_weights(accept))
    others = weights.get("*", 0.0)
    best = max(offers, key=lambda offer: weights.get(offer, others))
    weight = weights.get(best, others)
    return best if weight > 0 and weight >= weights.get("identity", 0.0) else None


def _coding_weights(accept: str) -> Iterator[tuple[str, float]]:
    """The codings and their weights; members that are ill-formed are passed over."""
    for text in accept.split(","):
        member = _CODING.fullmatch(text)
        if member and _QVALUE.fullmatch(member["weight"] or "1"):
            yield member["coding"].lower().removeprefix("x-"), float(member["weight"] or 1)


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
