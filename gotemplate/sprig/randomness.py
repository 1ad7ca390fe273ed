"""Random numbers and texts (sprig's numeric.go, strings.go and crypto.go), for pages: a key must be found again."""

from __future__ import annotations

import secrets
import string
import uuid
from base64 import b64encode
from collections.abc import Mapping

from gotemplate.template.budget import RenderBudget
from gotemplate.template.calling import INT, STRING, Function, budgeted, function
from gotemplate.template.text import go_string, runes
from gotemplate.template.values import ExecutionError

_ASCII = "".join(map(chr, range(32, 127)))


def _spend(budget: RenderBudget, count: int) -> None:
    """Charges a step for each character, because drawing takes longer than copying."""
    budget.check_size(count)
    budget.spend(count)


def _drawn(alphabet: str) -> Function:
    """Returns a function that makes a text of a number of random characters; Go's is empty for a negative number."""

    def draw(budget: RenderBudget, count: int) -> bytes:
        _spend(budget, max(count, 0))
        return "".join(secrets.choice(alphabet) for _ in range(count)).encode()

    return budgeted(draw, INT)


def _bytes(budget: RenderBudget, count: int) -> bytes:
    if count < 0:
        raise ExecutionError("the number of bytes is negative")
    budget.text(2 * count)
    return b64encode(secrets.token_bytes(count))


def _int(least: int, beyond: int) -> int:
    if beyond <= least:
        raise ExecutionError("the range of `randInt` is empty")
    return least + secrets.randbelow(beyond - least)


def _shuffle(budget: RenderBudget, text: bytes) -> bytes:
    _spend(budget, len(text))
    characters = list(runes(text))
    secrets.SystemRandom().shuffle(characters)
    return go_string("".join(characters))


FUNCTIONS: Mapping[str, Function] = {
    "randAlpha": _drawn(string.ascii_letters),
    "randAlphaNum": _drawn(string.ascii_letters + string.digits),
    "randAscii": _drawn(_ASCII),
    "randBytes": budgeted(_bytes, INT),
    "randInt": function(_int, INT, INT),
    "randNumeric": _drawn(string.digits),
    "shuffle": budgeted(_shuffle, STRING),
    "uuidv4": function(lambda: str(uuid.uuid4()).encode()),
}
