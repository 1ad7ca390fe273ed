"""Everything that reads what a client or S3 sends takes linear time: double the text, at most about double the time."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from itertools import product
from math import inf
from time import thread_time

import pytest
from joserfc.jwk import KeySet, RSAKey

import tornado_proxy.auth
import tornado_proxy.gateway
import tornado_proxy.routing
import tornado_proxy.semantics
import tornado_proxy.storage.s3
import tornado_proxy.telemetry
from tornado_proxy.auth.cookies import Sealer, read_cookies
from tornado_proxy.auth.oidc_provider import Metadata
from tornado_proxy.gateway import upload
from tornado_proxy.routing.request import Request
from tornado_proxy.semantics.conditions import ByteRange, Conditions
from tornado_proxy.semantics.cors import CorsPolicy
from tornado_proxy.semantics.forwarded import Origin, TrustedProxies, origin_behind
from tornado_proxy.storage.s3 import answers
from tornado_proxy.storage.s3.answers import read_listing

LONGEST = 64 * 1024
SAMPLES = ((128, 200), (512, 3))  # characters, and how many of the slowest texts of that length are kept
MOST = 3.0  # times, for double the length; quadratic time gives 4
ATTEMPTS = 100
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
PREFIXES = (
    "",
    '"',
    "/",
    "a/b;a=",
    "bytes=",
    "basic ",
    "http://",
    "form-data; a=",
    "multipart/form-data; a=",
    "utf-8'",
    'for="',
    "for=",
    "<a>",
    "<a b='",
)

SEALER = Sealer(bytes(16), "tests")
KEYS = KeySet([RSAKey.generate_key(2048, {"kid": "a"})])

# Parameters beside the text, by their names; a reader that needs another one fails here until it is listed.
ARGUMENTS = {
    "offers": ("text/html", "application/json"),
    "etag": '"a"',
    "other": '"a"',
    "method": "GET",
    "name": "a.txt",
    "trusted": Metadata("https://id.example", "", "", "", keys=KEYS),
    "client_id": "me",
    "now": 1e9,
    "ask": lambda _name: "",
    "expires": None,
    "rest": b"\x00" * 36,
    "request": Request("GET", "files.example", "/"),
}

# Whose text is the configuration's, the product's own, or a key, which is short.
NOT_OF_OTHERS = {
    "tornado_proxy.auth.basic.doubt",
    "tornado_proxy.auth.basic.read_password",
    "tornado_proxy.storage.s3.failures.translated",
    "tornado_proxy.storage.s3.failures.from_answer",
    "tornado_proxy.semantics.fields.challenge",
    "tornado_proxy.telemetry.metrics.rewrite_id",
    "tornado_proxy.telemetry.exposition.counter",
    "tornado_proxy.telemetry.exposition.gauge",
    "tornado_proxy.telemetry.exposition.histogram",
    "tornado_proxy.routing.mounts.host_expression",
    "tornado_proxy.routing.access.path_expression",
}


def _modules() -> Iterator[object]:
    for package in (
        tornado_proxy.semantics,
        tornado_proxy.routing,
        tornado_proxy.gateway,
        tornado_proxy.auth,
        tornado_proxy.telemetry,
        tornado_proxy.storage.s3,
    ):
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
    of_text = {"str", "str | None", "bytes"}
    return bool(parameters) and parameters[0].annotation in of_text and not inspect.iscoroutinefunction(read)


def _of_one_text(read: Callable[..., object]) -> Callable[[str], object]:
    """The reader as a function of its text alone."""
    first, *others = inspect.signature(read).parameters.values()
    given = {each.name: ARGUMENTS[each.name] for each in others if each.default is each.empty}
    if first.annotation == "bytes":
        return lambda text: read(text.encode(), **given)
    return lambda text: read(text, **given)


def _conditions(name: str) -> Callable[[str], object]:
    return lambda text: Conditions.from_headers({name: text}).decide('"a"', None)


def _forwarded(name: str) -> Callable[[str], object]:
    trusted = TrustedProxies(["127.0.0.0/8"])
    return lambda text: origin_behind(Origin("127.0.0.1"), ((name, text),), trusted)


async def _nothing() -> AsyncIterator[bytes]:
    for chunk in ():
        yield chunk


def _upload(name: str) -> Callable[[str], object]:
    usual = {"Transfer-Encoding": "chunked"}

    def read(text: str) -> None:
        upload.raw_upload({**usual, name: text}, _nothing(), "a.txt", None)

    return read


def _preflight(name: str) -> Callable[[str], object]:
    policy = CorsPolicy.of(("https://*.example",), (), ("*",))
    usual = {"Origin": "https://a.example", "Access-Control-Request-Method": "GET"}
    return lambda text: policy.of_preflight(lambda asked: {**usual, name: text}.get(asked, ""))


def _s3_header(name: bytes) -> Callable[[str], object]:
    return lambda text: answers.object_info({name: text.encode()}, 1)


def _s3_range(text: str) -> object:
    return answers.content_range(206, {b"content-range": text.encode(), b"content-length": b"1"}, ByteRange(0, 1))


def _s3_listing(field: str) -> Callable[[str], object]:
    listing = f"<ListBucketResult><EncodingType>url</EncodingType><Contents><{field}>{{}}</{field}></Contents>"
    return lambda text: read_listing((listing.format(text.replace("&", "&amp;")) + "</ListBucketResult>").encode())


# Readers of header fields, by what they are given.
HEADER_READERS = {
    "tornado_proxy.semantics.conditions.Conditions.from_headers": ("If-Match", "If-None-Match", "If-Range"),
    "tornado_proxy.semantics.forwarded.origin_behind": (
        "Forwarded",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "X-Forwarded-Proto",
    ),
    "tornado_proxy.auth.cookies.read_cookies": ("Cookie",),
    "tornado_proxy.storage.s3.answers.object_info": (b"last-modified", b"etag", b"x-amz-checksum-sha256"),
    "tornado_proxy.storage.s3.answers.content_range": (b"content-range",),
    "tornado_proxy.gateway.upload.raw_upload": ("Content-Type", "Content-Encoding", "Content-Md5", "Content-Digest"),
    "tornado_proxy.gateway.upload.check_raw": ("Content-Type", "Content-Encoding"),  # which `raw_upload` calls
    "tornado_proxy.gateway.answer.with_headers": (),  # what is sent
    "tornado_proxy.gateway.answer.without": (),
    "tornado_proxy.gateway.answer.private_headers": (),
    "tornado_proxy.gateway.answer.unchanged_headers": (),
    "tornado_proxy.semantics.cors.CorsPolicy.of": (),  # the configuration's
    "tornado_proxy.storage.s3.signature.sign": (),  # what is sent
    "tornado_proxy.storage.s3.answers.content_length": (),  # int() of bytes: refused beyond 4,300 digits
}


def _multipart_form() -> upload.MultipartForm:
    return upload.MultipartForm(None, b"boundary", 1 << 30)


def _form(text: str) -> None:
    form = _multipart_form()
    form._feed(b"--boundary\r\nContent-Disposition: form-data; name=file\r\n\r\n")
    form._feed(text.encode())


def _form_head(text: str) -> None:
    _multipart_form()._feed(b"--boundary\r\n" + text.encode()[:LONGEST])


READERS = {
    **{
        name: _of_one_text(read)
        for module in _modules()
        for name, read in _callables(module)
        if _reads_text(read) and name not in NOT_OF_OTHERS
    },
    **{
        name: _conditions(name) for name in HEADER_READERS["tornado_proxy.semantics.conditions.Conditions.from_headers"]
    },
    **{name: _forwarded(name) for name in HEADER_READERS["tornado_proxy.semantics.forwarded.origin_behind"]},
    **{name: _upload(name) for name in ("Content-Type", "Content-Encoding", "Content-Md5", "Content-Digest")},
    **{name: _preflight(name) for name in ("Origin", "Access-Control-Request-Headers")},
    "Cookie": lambda text: read_cookies((("Cookie", text),)),
    "a session": lambda text: SEALER.unseal(text, 0),
    **{f"S3's {name}": _s3_header(name) for name in HEADER_READERS["tornado_proxy.storage.s3.answers.object_info"]},
    "S3's content-range": _s3_range,
    **{f"a listing's {name}": _s3_listing(name) for name in ("Key", "Size", "LastModified")},
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


def test_every_reader_of_headers_is_listed():
    """Which of the fields it reads cannot be seen from outside."""
    takes_headers = {
        name
        for module in _modules()
        for name, read in _callables(module)
        if "headers" in inspect.signature(read).parameters
        and inspect.signature(read).parameters["headers"].default is inspect.Parameter.empty
        and not inspect.iscoroutinefunction(read)
    }
    assert takes_headers == set(HEADER_READERS)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_reader_takes_linear_time(read):
    """Of all repetitions the slowest three are doubled up to the longest head that is taken."""
    slowest = list(_texts())
    for size, kept in SAMPLES:
        slowest = sorted(slowest, key=lambda text, size=size: -_time(read, text(size)))[:kept]
    for text in slowest:
        half = whole = inf
        for _ in range(ATTEMPTS):
            half = min(half, _time(read, text(LONGEST // 2)))
            whole = min(whole, _time(read, text(LONGEST)))
            if whole <= max(NOISE, MOST * half):
                break
        else:
            pytest.fail(f"{text(40)!r}: {half * 1e3:.1f} ms, double the length {whole * 1e3:.1f} ms")
