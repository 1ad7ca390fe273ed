"""Attacks on the sign-in: fuzzed requests behind a trusted proxy, and floods of wrong passwords."""

import itertools
import re
import threading
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import bcrypt
import pytest
from administering import eventually
from endless_s3 import endless_s3
from fuzzed_requests import HEADERS, TARGETS, fuzzed, sent
from issuer import CLIENT, running_issuer
from joserfc import jwk
from joserfc.errors import SecurityWarning
from running import exchange, start_proxy

from tornado_proxy.auth.oidc_provider import TokenError, read_keys


def test_a_token_signed_with_a_short_key_is_refused():
    """An RSA key of less than 2048 bits can be factored, so it signs nothing (RFC 7518 3.3)."""
    with pytest.warns(SecurityWarning):
        short, long = (jwk.RSAKey.generate_key(bits, {"kid": str(bits)}) for bits in (1024, 2048))
    published = {"keys": [each.as_dict(private=False) for each in (short, long)]}
    assert [each.kid for each in read_keys(published).keys] == ["2048"]
    with pytest.raises(TokenError, match="at least 2048 bits"):
        read_keys({"keys": published["keys"][:1]})


CONFIGURATION = """
server: {{port: 0, trustedProxies: [127.0.0.0/8]}}
authProviders:
  oidc: {{id: {{issuerUrl: "{issuer}", clientID: {client}, clientSecret: {{value: 0123456789abcdef}}}}}}
  header: {{front: {{usernameHeader: X-User, emailHeader: X-Email, groupsHeader: X-Groups}}}}
targets:
  site:
    mount: {{path: [/]}}
    bucket: {{name: bucket, s3Endpoint: "{endpoint}", s3ForcePathStyle: true}}
    resources:
      - {{path: /dir/**, methods: [GET, PUT, DELETE], provider: front}}
      - {{path: /**, methods: [GET, PUT, DELETE], provider: id}}
"""


TOKENS = [
    f"{urlsafe_b64encode(header).rstrip(b'=').decode()}.e30.eA"
    for header in (
        b"[" * 9000, b"1", b'{"alg":"none"}', b'{"alg":"RS256"}', b'{"alg":"RS256","kid":["a"]}', b'{"alg":"RS256","kid":"one"}',
        b'{"alg":"RS256","kid":"\\ud800"}', b'{"alg":"RS256","kid":"one","crit":["b64"],"b64":false}', b'{"alg":{}}', b"\xff",
    )
]  # fmt: skip
SIGN_IN_TARGETS = (
    *TARGETS[:10], "/auth/id", "/auth/id?rd=/a", "/auth/id?rd=%FF", "/auth/id?rd=//x", "/auth/id?rd=http://[", "/auth/id/logout",
    "/auth/id?rd=http://h:99999/", "/auth/id?rd=" + "a" * 9000, "/auth/id/callback", "/auth/id/callback?state=%ED%A0%80&code=x",
    "/auth/id/callback?state=a&code=b", "/auth/id/callback?" + "state=a&" * 900, "/auth/id/callback?state=\xff&error=x",
)  # fmt: skip
SIGN_IN_HEADERS = (
    *HEADERS[:20], *(f"Authorization: Bearer {token}" for token in TOKENS), *(f"Cookie: oidc={token[:3800]}" for token in TOKENS),
    "Authorization: Bearer", "Authorization: Bearer \xff.\xff.\xff", "Cookie: oidc=\xff", "Cookie: oidc=a.b.c", "Cookie: " + "=" * 5000,
    "Cookie: oidc=" + "A" * 3800, "Cookie: oidc=A; oidc.1=B; oidc.2=..", "Forwarded: for=1.2.3.4;host=a b;proto=x", "Accept: text/html",
    'Forwarded: for="[::1]:1";host="h:1"', "Forwarded: " + 'for="\\' * 3000, "X-Forwarded-For: " + "1.2.3.4," * 3000,
    "X-Forwarded-For: ::ffff:1.2.3.4%eth0", "X-Forwarded-Host: \xff", "X-Forwarded-Host: h:99999999", "X-Forwarded-Host: [::1",
    "X-Forwarded-Proto: gopher", "X-Forwarded-Proto: https", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Origin: null",
    "Origin: http://h", "X-User: ann", "X-User: \xff", "X-User: ..", "X-Email: a@b", "X-Groups: a,,b", "X-Groups: " + "," * 20_000,
)  # fmt: skip


def _fuzz(folder, seeds: Iterable[int]) -> float:
    """Sends the requests of each seed to a service; returns the duration of the longest connection, in seconds."""
    longest = 0.0
    with running_issuer() as issuer, endless_s3() as (endpoint, _):
        configuration = CONFIGURATION.format(issuer=issuer.url, client=CLIENT, endpoint=endpoint)
        with start_proxy(folder, configuration) as proxy:
            for seed in seeds:
                start = time.monotonic()
                received = sent(proxy.address, fuzzed(seed, SIGN_IN_TARGETS, SIGN_IN_HEADERS))
                longest = max(longest, time.monotonic() - start)
                assert not re.search(rb"^HTTP/1.1 5", received, re.MULTILINE), f"seed {seed}: {received!r}"
            assert proxy.process.poll() is None
    assert not [line for line in proxy.lines if "Traceback" in line]
    return longest


def test_sign_in_survives_malformed_requests(tmp_path):
    """No malformed token, cookie, query or proxy header leads to a 5xx or to a connection that hangs."""
    _fuzz(tmp_path, range(400))


@pytest.mark.integration
def test_sign_in_survives_many_malformed_requests(tmp_path):
    """20,000 connections with malformed requests are answered too; the longest duration is printed."""
    print(f"longest connection: {_fuzz(tmp_path, range(20_000)) * 1e3:.0f} ms")


def test_wrong_passwords_from_elsewhere_keep_nobody_out(tmp_path):
    """While forty connections send wrong passwords for a name without a pause, its right one signs in from elsewhere."""
    configuration = PASSWORDS.format(hash=bcrypt.hashpw(b"right", bcrypt.gensalt(9)).decode())
    stop = threading.Event()
    with start_proxy(tmp_path, configuration) as proxy, ThreadPoolExecutor(40) as pool:

        def attack(number: int) -> None:
            for guess in itertools.count():
                if stop.is_set():
                    return
                _sign_in(proxy.address, "127.0.0.1", f"ann:{number}-{guess}")

        attacks = [pool.submit(attack, number) for number in range(40)]
        eventually(lambda: _sign_in(proxy.address, "127.0.0.1", "ann:wrong") == 503)
        try:
            assert _sign_in(proxy.address, "127.0.0.2", "ann:right") == 502  # the user is in, and there is no bucket
        finally:
            stop.set()
        for each in attacks:
            each.result()


PASSWORDS = """
authProviders: {{basic: {{staff: {{realm: Files}}}}}}
targets:
  site:
    bucket: {{name: bucket, s3Endpoint: "http://127.0.0.1:9"}}
    resources: [{{path: /**, provider: staff, basic: {{credentials: [{{user: ann, password: {{value: "{hash}"}}}}]}}}}]
"""


def _sign_in(address: tuple[str, int], source: str, user: str) -> int:
    """Asks for a file from an address of this machine, with a name and a password; returns the status."""
    signed_in = {"Authorization": f"Basic {b64encode(user.encode()).decode()}"}
    return exchange(address, "GET", "/x", headers=signed_in, source_address=(source, 0)).status
