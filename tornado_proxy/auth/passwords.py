"""Passwords of the configuration: plain text, or a bcrypt or argon2 hash."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest

# The last character of the salt has four bits to spare, which the library wants to be none.
_BCRYPT = re.compile(r"\$2[aby]\$(?:0[4-9]|[12][0-9]|3[01])\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{31}")

# The algorithm reads no more. The library refuses longer passwords, but the tools that make hashes cut them here.
_LONGEST_FOR_BCRYPT = 72

# What htpasswd (MD5, SHA-1), crypt(3) and LDAP write.
_FOREIGN_HASH = re.compile(
    r"\$(?:apr1|1|5|6|7|y|gy|md5|sha1|scrypt|pbkdf2[\w-]*)\$|\{(?:SHA|SSHA|MD5|CRYPT)\}", re.IGNORECASE
)

_MOST_BCRYPT_ROUNDS = 14  # as a power of two; about a second
_MOST_ARGON2_KIBIBYTES = 1 << 20  # of memory, times the passes over it; about a second


class UnreadableHash(ValueError):
    """A text that begins like a hash but is not a valid one; the message names the kind, never the text."""


@dataclass(frozen=True, slots=True)
class PlainPassword:
    """A password that was configured in plain text; only its digest is kept."""

    _digest: bytes = field(repr=False)

    def matches(self, offered: str) -> bool:
        """Whether it is the password; every wrong password takes the same time."""
        return compare_digest(self._digest, sha256(offered.encode()).digest())


@dataclass(frozen=True, slots=True)
class HashedPassword:
    """A hash; `matches` takes as long as its cost parameters demand."""

    text: str = field(repr=False)
    _verify: Callable[[str, str], bool] = field(repr=False)

    @property
    def cost(self) -> str:
        """The cost of a check, equal for hashes of the same cost: the hash without its salt and digest."""
        return self.text.rsplit("$", 2)[0] if self.text.startswith("$argon2") else self.text[4:6]

    def matches(self, offered: str) -> bool:
        """Whether the hash is that of this password."""
        return self._verify(self.text, offered)


Password = PlainPassword | HashedPassword


def read_password(text: str) -> Password:
    """Reads a password of the configuration; raises `UnreadableHash`."""
    for prefix, (is_readable, verify) in _SCHEMES.items():
        if text.startswith(prefix):
            if not is_readable(text):
                raise UnreadableHash(f"it begins like a hash, with `{prefix}`, but is not a valid one")
            return HashedPassword(text, verify)
    return PlainPassword(sha256(text.encode()).digest())


def doubt(text: str) -> str | None:
    """Returns a warning about a configured password, or None; never the text itself. Raises `UnreadableHash`."""
    if isinstance(read_password(text), PlainPassword):
        looks_hashed = _FOREIGN_HASH.match(text)
        return "it looks like a hash, of a kind not known here, and is taken for the password" if looks_hashed else None
    return "to check it takes seconds, or gigabytes" if _is_costly(text) else None


def _is_costly(text: str) -> bool:
    """Whether a check takes over a second or so on a usual machine, or over a gigabyte."""
    if not text.startswith("$argon2"):
        return int(text[4:6]) > _MOST_BCRYPT_ROUNDS
    import argon2  # noqa: PLC0415 - where there is such a hash

    cost = argon2.extract_parameters(text)
    return cost.memory_cost * cost.time_cost > _MOST_ARGON2_KIBIBYTES


def _is_bcrypt(text: str) -> bool:
    return _BCRYPT.fullmatch(text) is not None


def _verify_bcrypt(text: str, offered: str) -> bool:
    import bcrypt  # noqa: PLC0415 - where there is such a hash

    return bcrypt.checkpw(offered.encode()[:_LONGEST_FOR_BCRYPT], text.encode())


def _is_argon2(text: str) -> bool:
    import argon2  # noqa: PLC0415 - where there is such a hash

    try:
        argon2.extract_parameters(text)
    except argon2.exceptions.InvalidHashError:
        return False
    return True


def _verify_argon2(text: str, offered: str) -> bool:
    import argon2  # noqa: PLC0415 - imported by `_is_argon2`

    try:
        return argon2.PasswordHasher().verify(text, offered)
    except argon2.exceptions.VerificationError:
        # A mismatch, or parameters that the library cannot work with: in either case nobody signs in.
        return False


_SCHEMES: dict[str, tuple[Callable[[str], bool], Callable[[str, str], bool]]] = {
    "$2a$": (_is_bcrypt, _verify_bcrypt),
    "$2b$": (_is_bcrypt, _verify_bcrypt),
    "$2y$": (_is_bcrypt, _verify_bcrypt),
    "$argon2": (_is_argon2, _verify_argon2),
}
