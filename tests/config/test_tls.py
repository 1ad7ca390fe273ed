import pytest
from configurations import MINIMAL, codes_and_messages, settings

from tornado_proxy.config.secrets import Location, Reference, document_url, file_reference
from tornado_proxy.config.server import CIPHER_SUITES, cipher_suite, tls_version
from tornado_proxy.config.values import GuardedUrl, InvalidValue


@pytest.mark.parametrize("text", ["1.2", "TLSv1.2", "TLS 1.2", "tls-1_2", "TLS_1-2", "tls1.2", "TLs 1-2"])
def test_a_version_may_have_the_notations_of_s3_proxy(text):
    assert tls_version(text) == "TLSv1.2"


def test_cipher_suites_have_the_names_of_go():
    """Insecure cipher suites are unknown, as in s3-proxy."""
    assert cipher_suite("TLS_AES_128_GCM_SHA256") == "TLS_AES_128_GCM_SHA256"
    assert all(map(cipher_suite, CIPHER_SUITES))
    with pytest.raises(InvalidValue, match="cannot be `TLS_RSA_WITH_RC4_128_SHA`"):
        cipher_suite("TLS_RSA_WITH_RC4_128_SHA")


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("certs/a.pem", Location("file", path="certs/a.pem")),
        ("/tmp/a#?b.pem", Location("file", path="/tmp/a#?b.pem")),
        ("file:///tmp/a%23b.pem", Location("file", path="/tmp/a#b.pem")),
        ("http://a.test:80/b?c", Location("http", "a.test:80", "/b")),
        ("HTTPS://a.test/b", Location("https", "a.test", "/b")),
        ("s3://bucket/a/b.pem", Location("s3", "bucket", "a/b.pem")),
        ("arn:aws:s3:::bucket/a/b.pem", Location("s3", "bucket", "a/b.pem")),
        (
            "arn:aws:ssm:eu-central-1:123456789012:parameter/a/b",
            Location("ssm", path="arn:aws:ssm:eu-central-1:123456789012:parameter/a/b", region="eu-central-1"),
        ),
        (
            "arn:aws:secretsmanager:eu-central-1:1:secret:a:b",
            Location("secretsmanager", path="arn:aws:secretsmanager:eu-central-1:1:secret:a:b", region="eu-central-1"),
        ),
    ],
)
def test_the_location_of_a_document_is_read(text, location):
    assert (Location.of(text), document_url(text)) == (location, GuardedUrl(text))


def test_only_a_file_is_a_reference():
    assert file_reference(None) is None
    assert file_reference(GuardedUrl("s3://bucket/key")) is None
    assert (
        file_reference(GuardedUrl("file:///tmp/a.pem"))
        == file_reference(GuardedUrl("/tmp/a.pem"))
        == Reference(path="/tmp/a.pem")
    )


def test_tls_of_a_listener_is_read():
    """The options have the names of s3-proxy, and versions are normalized."""
    certificate = "{certificateUrl: a.crt, privateKey: {env: SECRET}, certificateUrlConfig: {httpTimeout: 1s}}"
    text = f"server: {{ssl: {{minTLSVersion: tls-1_3, certificates: [{certificate}]}}}}\n{MINIMAL}"
    ssl = settings(text).server.ssl
    assert ssl.enabled
    assert (ssl.min_version, ssl.max_version) == ("TLSv1.3", "TLSv1.3")
    (parsed,) = ssl.all_certificates
    assert (parsed.certificate_url, parsed.certificate_url_config.http_timeout) == (GuardedUrl("a.crt"), 1)
    assert parsed.private_key.reveal() == "secret"


def test_a_self_signed_certificate_has_no_empty_name():
    text = f"server: {{ssl: {{selfSignedHostnames: [a.test, '']}}}}\n{MINIMAL}"
    assert codes_and_messages(text) == [("bad-value", "an item of `selfSignedHostnames` is empty")]


@pytest.mark.parametrize(
    "text",
    [
        "ftp://ftp.example.com",
        ":r&qwer+asdf",
        "http://a:b/c",
        "http://[::1/c",
        "arn:aws:s3",
        "arn:aws:iam::123456789012:role/testRole",
        "arn:aws:s3:us-east-7::bucket/privkey.pem",
        "arn:aws:s3::123456789012:bucket/privkey.pem",
        "arn:aws:s3:::bucket",
        "s3://bucket",
        "s3:///key",
        "arn:aws:ssm::123456789012:parameter/certificate",
        "arn:aws:ssm:eu-central-1::parameter/certificate",
        "arn:aws:ssm:eu-central-1:123456789012:document/certificate",
        "arn:aws:ssm:eu-central-1:123456789012:parameter/",
        "arn:aws:secretsmanager::123456789012:secret:certificate",
        "arn:aws:secretsmanager:eu-central-1::secret:certificate",
        "arn:aws:secretsmanager:eu-central-1:123456789012:parameter/c",
        "s3://bucket/key?startToken=foo",
        "s3://bucket/key#foo",
        "file:///tmp/filename?query",
        "file:///tmp/filename#fragment",
        "http://example.com/certificate.pem#fragment",
        "file://elsewhere/tmp/a",
        "file:",
        "http:///path",
    ],
)
def test_an_invalid_location_is_refused(text):
    with pytest.raises(InvalidValue, match="cannot be") as error:
        document_url(text)
    assert error.value.help.startswith("a file, or a place such as")


@pytest.mark.parametrize(("text", "message"), [("", "is empty"), ("a\nb", "contains a control character")])
def test_a_location_is_one_line(text, message):
    with pytest.raises(InvalidValue, match=message):
        document_url(text)
