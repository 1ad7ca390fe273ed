"""Every parser of input from a client or S3 takes linear time: eight times the length takes about eight times the time."""

import importlib
import inspect
import pkgutil
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from joserfc.jwk import KeySet, RSAKey
from linear_time import check_linear, texts_of

from tornado_proxy.auth.oidc import Sealer, read_cookies
from tornado_proxy.auth.oidc_provider import Metadata
from tornado_proxy.config.model import Bucket, Mount, Target
from tornado_proxy.config.server import Cors
from tornado_proxy.routing.mounts import RouteMatch, Site
from tornado_proxy.rules.model import Key, RuleSet
from tornado_proxy.s3 import answers
from tornado_proxy.s3.answers import read_listing
from tornado_proxy.semantics.conditions import ByteRange, Conditions
from tornado_proxy.semantics.request import Origin, Request, TrustedProxies, origin_behind
from tornado_proxy.web import incoming_file
from tornado_proxy.web.filters import CorsPolicy

LONGEST = 64 * 1024

# The characters of HTTP's grammars; a text repeats one or two of them.
CHARACTERS = (
    '"', "\\", ",", ";", " ", "\t", "=", "/", "*", "%", "-", "0", ":", "[", "@", "?", "&", ".", "a", "W", "é", "'",
)  # fmt: skip
PREFIXES = (
    "", '"', "/", "a/b;a=", "bytes=", "basic ", "http://", "form-data; a=", "multipart/form-data; a=", "utf-8'",
    'for="', "for=", "<a>", "<a b='",
)  # fmt: skip

SEALER = Sealer(bytes(16), "tests")
KEYS = KeySet([RSAKey.generate_key(2048, {"kid": "a"})])

# Arguments for the other parameters of readers, by name; a reader with an unlisted parameter fails with a KeyError.
ARGUMENTS = {
    "offers": ("text/html", "application/json"), "charset": "utf-8", "etag": '"a"', "other": '"a"', "method": "GET",
    "name": "a.txt", "trusted": Metadata("https://id.example", "", "", "", keys=KEYS), "client_id": "me",
    "digest": "9a31", "now": 1e9, "ask": lambda _name: "", "expires": None, "status": 400, "message": "no",
    "rest": b"\x00" * 36, "request": Request("GET", "files.example", "/"),
    "match": RouteMatch(Site(Target("site", Mount(), Bucket("bucket")), RuleSet("site")), "/", Key("/")),
    "home": Key("/"), "asked": {},
}  # fmt: skip

# Functions that read text of the configuration or of the product, or a key, which is short.
TRUSTED_OR_SHORT = {
    "tornado_proxy.auth.basic.doubt", "tornado_proxy.auth.basic.read_password",
    "tornado_proxy.s3.client.refuses_checksum_mode", "tornado_proxy.s3.client.proxy_of",
    "tornado_proxy.s3.failures.translated", "tornado_proxy.s3.failures.from_answer", "tornado_proxy.semantics.fields.challenge",
    "tornado_proxy.telemetry.metrics.rewrite_id", "tornado_proxy.telemetry.exposition.counter",
    "tornado_proxy.telemetry.exposition.gauge", "tornado_proxy.telemetry.exposition.histogram",
    "tornado_proxy.routing.mounts.host_expression", "tornado_proxy.routing.access.path_expression",
}  # fmt: skip


def _modules() -> Iterator[object]:
    for layer in ("semantics", "routing", "web", "auth", "telemetry", "s3"):
        package = importlib.import_module(f"tornado_proxy.{layer}")
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(module.name)


def _callables(module: object) -> Iterator[tuple[str, Callable[..., object]]]:
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(value):
            yield f"{module.__name__}.{name}", value
        elif inspect.isclass(value):
            for method, member in vars(value).items():
                if isinstance(member, classmethod) and not method.startswith("_"):
                    yield f"{module.__name__}.{name}.{method}", getattr(value, method)


def _reads_text(read: Callable[..., object]) -> bool:
    parameters = list(inspect.signature(read).parameters.values())
    text_types = {"str", "str | None", "bytes"}
    return bool(parameters) and parameters[0].annotation in text_types and not inspect.iscoroutinefunction(read)


def _function_of_text(read: Callable[..., object]) -> Callable[[str], object]:
    """Returns the reader as a function of the text; other parameters get the arguments above."""
    first, *parameters = inspect.signature(read).parameters.values()
    arguments = {each.name: ARGUMENTS[each.name] for each in parameters if each.default is each.empty}
    if first.annotation == "bytes":
        return lambda text: read(text.encode(), **arguments)
    return lambda text: read(text, **arguments)


def _conditions(name: str) -> Callable[[str], object]:
    return lambda text: Conditions.from_headers({name: text}).decide('"a"', None)


def _forwarded(name: str) -> Callable[[str], object]:
    trusted = TrustedProxies(["127.0.0.0/8"])
    return lambda text: origin_behind(Origin("127.0.0.1"), ((name, text),), trusted)


async def _nothing() -> AsyncIterator[bytes]:
    for chunk in ():
        yield chunk


def _upload(name: str) -> Callable[[str], object]:
    headers = {"Transfer-Encoding": "chunked"}

    def read(text: str) -> None:
        incoming_file.raw_upload({**headers, name: text}, _nothing(), "a.txt", None)

    return read


def _preflight(name: str) -> Callable[[str], object]:
    policy = CorsPolicy.of(Cors(allow_origins=("https://*.example",), allow_headers=("*",)))
    headers = {"Origin": "https://a.example", "Access-Control-Request-Method": "GET"}
    return lambda text: policy.of_preflight({**headers, name: text})


def _s3_header(name: bytes) -> Callable[[str], object]:
    return lambda text: answers.object_info({name: text.encode()}, 1)


def _s3_listing(field: str) -> Callable[[str], object]:
    listing = f"<ListBucketResult><EncodingType>url</EncodingType><Contents><{field}>{{}}</{field}></Contents>"
    return lambda text: read_listing((listing.format(text.replace("&", "&amp;")) + "</ListBucketResult>").encode())


# Readers of header fields, with the fields that each one reads.
HEADER_READERS = {
    "tornado_proxy.semantics.conditions.Conditions.from_headers": ("If-Match", "If-None-Match", "If-Range"),
    "tornado_proxy.semantics.request.origin_behind": (
        "Forwarded",
        *(f"X-Forwarded-{what}" for what in ("For", "Host", "Proto", "Prefix")),
    ),
    "tornado_proxy.auth.oidc.read_cookies": ("Cookie",),
    "tornado_proxy.s3.answers.object_info": (b"last-modified", b"etag", b"x-amz-checksum-sha256"),
    "tornado_proxy.s3.answers.content_range": (b"content-range",),
    "tornado_proxy.s3.answers.version_id": (),  # the text as it is
    "tornado_proxy.s3.answers.is_foreign": (),  # a word in a text
    "tornado_proxy.s3.answers.object_head": (),  # which calls the three
    "tornado_proxy.web.incoming_file.raw_upload": ("Content-Type", "Content-Encoding", "Content-Md5", "Content-Digest"),
    "tornado_proxy.web.incoming_file.check_raw": ("Content-Type", "Content-Encoding"),  # which `raw_upload` calls
    "tornado_proxy.web.answer.with_headers": (),  # headers of an answer
    "tornado_proxy.web.answer.without": (),
    "tornado_proxy.web.archive.stream": (),
    "tornado_proxy.web.answer.private_headers": (),
    "tornado_proxy.s3.signature.sign": (),  # headers of a request to S3
    "tornado_proxy.s3.signature.header_lines": (),  # the same
    "tornado_proxy.s3.answers.content_length": (),  # int() of bytes: refused beyond 4,300 digits
}


def _multipart_form() -> incoming_file.MultipartForm:
    return incoming_file.MultipartForm(None, b"boundary", 1 << 30)


def _form(text: str) -> None:
    form = _multipart_form()
    form._feed(b"--boundary\r\nContent-Disposition: form-data; name=file\r\n\r\n")
    form._feed(text.encode())


ONE_BYTE = {b"content-length": b"1"}
READERS = {
    **{
        name: _function_of_text(read)
        for module in _modules()
        for name, read in _callables(module)
        if _reads_text(read) and name not in TRUSTED_OR_SHORT
    },
    **{
        name: _conditions(name) for name in HEADER_READERS["tornado_proxy.semantics.conditions.Conditions.from_headers"]
    },
    **{name: _forwarded(name) for name in HEADER_READERS["tornado_proxy.semantics.request.origin_behind"]},
    **{name: _upload(name) for name in ("Content-Type", "Content-Encoding", "Content-Md5", "Content-Digest")},
    **{name: _preflight(name) for name in ("Origin", "Access-Control-Request-Headers")},
    "Cookie": lambda text: read_cookies((("Cookie", text),)),
    "a session": lambda text: SEALER.unseal(text, 0),
    **{f"S3's {name}": _s3_header(name) for name in HEADER_READERS["tornado_proxy.s3.answers.object_info"]},
    "S3's content-range": lambda text: answers.content_range(
        206, ONE_BYTE | {b"content-range": text.encode()}, ByteRange(0, 1)
    ),
    **{f"a listing's {name}": _s3_listing(name) for name in ("Key", "Size", "LastModified")},
    "a form's content": _form,
    "a form's head": lambda text: _multipart_form()._feed(b"--boundary\r\n" + text.encode()[:LONGEST]),
}


def test_every_reader_of_headers_is_listed():
    """The table lists every function with a parameter `headers`, since its signature doesn't name the fields."""
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
    """A reader takes at most 20 times as long for eight times the length of the worst of all repetitions."""
    check_linear(read, texts_of(CHARACTERS, PREFIXES, ("", "\x00")), LONGEST)
