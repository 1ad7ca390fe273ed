from __future__ import annotations

import string
from datetime import UTC, datetime

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.storage.s3.signature import KeyPair, Scope, encode_path, encode_query, sign

# Of the S3 API, "Signature Calculations for the Authorization Header: Transferring Payload in a Single Chunk".
EXAMPLE = KeyPair("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
EXAMPLE_DATE = datetime(2013, 5, 24, tzinfo=UTC).timestamp()
EXAMPLE_HOST = ("host", "examplebucket.s3.amazonaws.com")

NAMES = st.text(string.ascii_lowercase + string.digits + "-", min_size=1, max_size=12).map("x-{}".format)
VALUES = st.text(string.ascii_letters + string.digits + string.punctuation + " \t", max_size=30)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TOKENS = st.none() | st.text(string.ascii_letters + string.digits + "+/=", min_size=1)


def signature(headers) -> str:
    return dict(headers)["authorization"].rpartition("Signature=")[2]


@pytest.mark.parametrize(
    ("path", "query", "headers", "expected"),
    [
        ("/test.txt", {}, [("range", "bytes=0-9")], "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        ("/", {"lifecycle": ""}, [], "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ("/", {"max-keys": "2", "prefix": "J"}, [], "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ],
)
def test_the_published_examples_are_signed_alike(path, query, headers, expected):
    """The examples of the S3 API have the signatures that are printed there."""
    request = ("GET", path, encode_query(query))
    assert signature(sign(request, (EXAMPLE_HOST, *headers), Scope("us-east-1"), EXAMPLE, EXAMPLE_DATE)) == expected


class _At(S3SigV4Auth):
    """botocore's signer at a moment, for which it has no parameter of its own."""

    def __init__(self, moment: float, *arguments: object) -> None:
        super().__init__(*arguments)
        self._moment = moment

    def add_auth(self, request: AWSRequest) -> None:
        """Sign."""
        request.context["timestamp"] = datetime.fromtimestamp(self._moment, UTC).strftime("%Y%m%dT%H%M%SZ")
        self._modify_request_before_signing(request)
        canonical = self.canonical_request(request)
        self._inject_signature_to_request(request, self.signature(self.string_to_sign(request, canonical), request))

    def _set_necessary_date_headers(self, request: AWSRequest) -> None:
        request.headers["X-Amz-Date"] = request.context["timestamp"]


@given(
    key=TEXTS,
    query=st.dictionaries(TEXTS, TEXTS, max_size=4),
    headers=st.dictionaries(NAMES, VALUES, max_size=4),
    pair=st.builds(KeyPair, TEXTS.filter(bool), TEXTS, TOKENS),
    moment=st.integers(0, 4_000_000_000),
)
def test_requests_are_signed_as_botocore_signs_them(key, query, headers, pair, moment):
    """For any key, query, headers and session token, the signature is botocore's."""
    path, text = encode_path(f"/bucket/{key}"), encode_query(query)
    signed = sign(("GET", path, text), (("host", "s3.example"), *headers.items()), Scope("r-1"), pair, moment)
    request = AWSRequest("GET", f"http://s3.example{path}?{text}", headers=headers)
    request.context["payload_signing_enabled"] = True
    _At(moment, Credentials(pair.access_key, pair.secret_key, pair.session_token), "s3", "r-1").add_auth(request)
    assert dict(signed)["authorization"] == request.headers["Authorization"]


@given(TEXTS)
def test_no_line_break_survives(text):
    """Whatever a header holds, it stays one line."""
    signed = sign(("GET", "/", ""), (("host", "a"), ("if-match", f"a\r\n{text}")), Scope("r"), EXAMPLE, 0)
    assert not any("\n" in value or "\r" in value for _, value in signed)


def test_a_key_pair_is_not_shown():
    """A pair's `repr`, which a traceback may hold, has no secret in it."""
    assert repr(EXAMPLE) == "<KeyPair>"
