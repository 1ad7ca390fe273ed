"""Webhooks: requests that tell others what was done with objects; a section of each action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from tornado_proxy.config import values
from tornado_proxy.config.options import Bounds, Constraint, Mark, option
from tornado_proxy.config.providers import Url
from tornado_proxy.config.quantities import DAY, Duration
from tornado_proxy.config.secrets import Secret

_HEADERS = Constraint(values.header_pairs)
_Wait = Annotated[float, Duration(0, DAY)]


@dataclass(frozen=True, slots=True)
class Webhook:
    """A request that is made after each request of the action that succeeded; nobody waits for it."""

    shape: ClassVar[str] = "such as `{url: https://hooks.example.org/files}`"

    url: Url = option("The URL that is called.", example="https://hooks.example.org/files")
    method: Literal["POST", "PUT", "PATCH", "DELETE"] = option("The method.", default="POST")
    headers: Annotated[tuple[tuple[str, str], ...], Mark.PAIRS, _HEADERS, Constraint(values.header_values)] = option(
        "Headers by name.", default=()
    )
    secret_headers: Annotated[tuple[tuple[str, Secret], ...], Mark.PAIRS, _HEADERS] = option(
        "Headers whose values are secrets, by name.", default=()
    )
    retry_count: Annotated[int, Bounds(0, 100)] = option(
        "How often a failed call is repeated: one without an answer, or with 429 or 5xx.", default=0
    )
    default_wait_time: _Wait = option(
        "How long the first repetition waits; each further one waits twice as long.", default=0.1
    )
    max_wait_time: _Wait = option("How long a repetition waits at most.", default=2.0)
    timeout: Annotated[float, Duration(0.1, 3600)] = option("How long one call may take.", default=10.0)
