"""Everything that reads what a client sends takes linear time: double the text, at most about double the time."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from time import thread_time

import pytest

import tornado_proxy.gateway
import tornado_proxy.routing
import tornado_proxy.semantics
from tornado_proxy.gateway import form
from tornado_proxy.semantics.conditions import Conditions

LONGEST = 64 * 1024
SAMPLE = 512  # characters
MOST = 2.5  # times, for double the length
NOISE = 0.004  # seconds; what is faster than this at full length may have any ratio

# What the grammars of HTTP are made of; the texts are repetitions of one or two of these.
CHARACTERS = (
    '"',
    "\\",
    ",",
    ";",
    " ",
    "\t",
    "=",
    "/",
    "*",
    "%",
    "-",
    "0",
    ":",
    "[",
    "@",
    "?",
    "&",
    ".",
    "a",
    "W",
    "é",
    "'",
)
PREFIXES = ("", '"', "/", "a/b;a=", "bytes=", "basic ", "http://", "form-data; a=", "multipart/form-data; a=", "utf-8'")

# Parameters beside the text, by their names; a reader that needs another one fails here until it is listed.
ARGUMENTS = {
    "offers": ("text/html", "application/json"),
    "etag": '"a"',
    "other": '"a"',
    "method": "GET",
    "name": "a.txt",
}

# Whose text is not the client's: the configuration's, the product's own, or S3's key.
NOT_OF_CLIENTS = {
    "tornado_proxy.semantics.credentials.challenge",
    "tornado_proxy.routing.mounts.host_expression",
    "tornado_proxy.routing.access.path_expression",
}


def _modules() -> Iterator[object]:
    for package in (tornado_proxy.semantics, tornado_proxy.routing, tornado_proxy.gateway):
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(found.name)


def _callables(module: object) -> Iterator[tuple[str, Callable[..., object]]]:
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(value):
            yield f"{module.__name__}.{name}", value
        elif inspect.isclass(value):
            for method, own in vars(value).items():
                if isinstance(own, classmethod) and not method.startswith("_"):
                    yield f"{module.__name__}.{name}.{method}", getattr(value, method)


def _reads_text(read: Callable[..., object]) -> bool:
    parameters = list(inspect.signature(read).parameters.values())
    return (
        bool(parameters) and parameters[0].annotation in {"str", "str | None"} and not inspect.iscoroutinefunction(read)
    )


def _of_one_text(read: Callable[..., object]) -> Callable[[str], object]:
    """The reader as a function of its text alone."""
    others = list(inspect.signature(read).parameters.values())[1:]
    given = {each.name: ARGUMENTS[each.name] for each in others if each.default is each.empty}
    return lambda text: read(text, **given)


def _conditions(name: str) -> Callable[[str], object]:
    return lambda text: Conditions.from_headers({name: text}).decide('"a"', None)


def _form(text: str) -> None:
    scanner = form._Scanner(b"boundary")
    scanner.feed(b"--boundary\r\nContent-Disposition: form-data; name=file\r\n\r\n")
    scanner.feed(text.encode())


def _form_head(text: str) -> None:
    form._Scanner(b"boundary").feed(b"--boundary\r\n" + text.encode()[:LONGEST])


READERS = {
    **{
        name: _of_one_text(read)
        for module in _modules()
        for name, read in _callables(module)
        if _reads_text(read) and name not in NOT_OF_CLIENTS
    },
    "If-None-Match": _conditions("If-None-Match"),
    "If-Match": _conditions("If-Match"),
    "If-Range": _conditions("If-Range"),
    "a form's content": _form,
    "a form's head": _form_head,
}


def _texts() -> Iterator[Callable[[int], str]]:
    units = [*CHARACTERS, *("".join(pair) for pair in product(CHARACTERS, repeat=2) if pair[0] != pair[1])]
    for prefix, unit, suffix in product(PREFIXES, units, ("", "\x00")):
        yield lambda size, p=prefix, u=unit, s=suffix: (p + u * (size // len(u) + 1))[: size - 1] + s


def _time(read: Callable[[str], object], text: str) -> float:
    before = thread_time()
    # A refusal is an answer too.
    with suppress(ValueError, Exception):
        read(text)
    return thread_time() - before


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_reader_takes_linear_time(read):
    """Of all repetitions the slowest three are doubled up to the longest head that is taken."""
    slowest = sorted(_texts(), key=lambda text: -_time(read, text(SAMPLE)))[:3]
    for text in slowest:
        half, whole = (min(_time(read, text(size)) for _ in range(3)) for size in (LONGEST // 2, LONGEST))
        assert whole <= max(NOISE, MOST * half), (
            f"{text(40)!r}: {half * 1e3:.1f} ms, double the length {whole * 1e3:.1f} ms"
        )
