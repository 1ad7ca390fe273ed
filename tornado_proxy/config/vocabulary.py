"""What the names in a configuration say of their values: open, secret, or nothing known."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from tornado_proxy.config.secrets import Source
from tornado_proxy.lang.suggestion import did_you_mean

REFERENCES = {
    Source.ENV.value: re.compile(r"\w+"),
    Source.PATH.value: re.compile(r"\S.*"),
    Source.CREDENTIAL.value: re.compile(r"[\w.@:-]+"),
}
"""The options whose value is the name of a secret, not the secret, and what such names look like."""

_SECRETS = frozenset({"password", "accessKey", "secretKey", "sessionToken", Source.VALUE.value})
_SECTIONS_OF_SECRETS = frozenset({"credentials"})
_SOUNDS_SECRET = re.compile(r"pass|pwd|secret|token|key|credential", re.IGNORECASE)


class Meaning(Enum):
    """What a name says of its value."""

    OPEN = "an option that holds no secret"
    SECRET = "an option that holds a secret or a reference to one"  # noqa: S105 - a description
    SECTION = "a section of secrets"
    LIKE_OPEN = "resembles an open option"
    LIKE_SECRET = "resembles a secret option, or sounds like one"  # noqa: S105 - a description
    UNKNOWN = "no option: the name of a target or a provider, or a mistake"


@dataclass(frozen=True)
class Vocabulary:
    """The names of all options that a configuration may use."""

    options: frozenset[str]

    def meaning(self, name: str) -> Meaning:
        """What a name says of its value."""
        if name in _SECRETS:
            return Meaning.SECRET
        if name in _SECTIONS_OF_SECRETS:
            return Meaning.SECTION
        if name in self.options:
            return Meaning.OPEN
        near = did_you_mean(name, self.options | _SECRETS)
        if near in _SECRETS | _SECTIONS_OF_SECRETS or _SOUNDS_SECRET.search(name):
            return Meaning.LIKE_SECRET
        return Meaning.LIKE_OPEN if near else Meaning.UNKNOWN


def resembles_reference(name: str) -> bool:
    """Whether a name within a reference is meant to be one of its options, so that it is no secret itself."""
    return name in REFERENCES or did_you_mean(name, [source.value for source in Source]) is not None
