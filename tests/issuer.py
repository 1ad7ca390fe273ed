"""An OpenID issuer and a policy server on loopback; the issuer signs in the user of `claims` without a password."""

import contextlib
import hashlib
import http.server
import json
import secrets
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwk, jwt

CLIENT, CLIENT_SECRET = "files", "the secret of the client"
ANN = {
    "sub": "1",
    "preferred_username": "ann",
    "email": "ann@example.org",
    "email_verified": True,
    "groups": ["editors"],
}


@dataclass
class Issuer:
    """The claims of the user, the policy's decision `policy_allows`, and the inputs that the policy server has received."""

    url: str
    claims: dict[str, Any] = field(default_factory=lambda: dict(ANN))
    policy_allows: bool = True
    policy_inputs: list[Any] = field(default_factory=list)
    keys: list[jwk.RSAKey] = field(default_factory=lambda: [new_key("one")])
    logins: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def key(self) -> jwk.RSAKey:
        """The key that signs."""
        return self.keys[-1]

    def token(self, **claims: object) -> str:
        """An ID token for the client; `claims` replace those of the user."""
        standard_claims = {"iss": self.url, "aud": CLIENT, "iat": int(time.time()), "exp": int(time.time()) + 300}
        return jwt.encode({"alg": "RS256", "kid": self.key.kid}, {**standard_claims, **self.claims, **claims}, self.key)

    def answer(self, path: str, query: dict[str, str], body: str) -> tuple[int, dict[str, str], Any]:  # noqa: PLR0911
        """The status, the headers and the document for a request."""
        match path:
            case "/.well-known/openid-configuration":
                paths = {"authorization": "authorize", "token": "token", "end_session": "end"}
                endpoints = {f"{name}_endpoint": f"{self.url}/{path}" for name, path in paths.items()}
                return 200, {}, {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **endpoints}
            case "/keys":
                return 200, {}, {"keys": [key.as_dict(private=False) for key in self.keys]}
            case "/authorize":
                wanted = {"client_id": CLIENT, "response_type": "code", "code_challenge_method": "S256"}
                if not wanted.items() <= query.items():
                    return 400, {}, {"error": "invalid_request"}
                code = secrets.token_urlsafe(8)
                self.logins[code] = query
                parameters = urlencode({"code": code, "state": query["state"]})
                return 302, {"Location": f"{query['redirect_uri']}?{parameters}"}, None
            case "/token":
                return self._redeem({name: values[0] for name, values in parse_qs(body).items()})
            case "/end":
                return 302, {"Location": query["post_logout_redirect_uri"]}, None
            case "/policy":
                self.policy_inputs.append(json.loads(body)["input"])
                return 200, {}, {"result": self.policy_allows}
        return 404, {}, None

    def _redeem(self, form: dict[str, str]) -> tuple[int, dict[str, str], Any]:
        login = self.logins.pop(form["code"], None)
        digest = urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if login is None or login["code_challenge"] != digest or login["redirect_uri"] != form["redirect_uri"]:
            return 400, {}, {"error": "invalid_grant"}
        return 200, {}, {"id_token": self.token(nonce=login["nonce"]), "token_type": "Bearer"}


def new_key(kid: str) -> jwk.RSAKey:
    """A key that signs tokens."""
    return jwk.RSAKey.generate_key(2048, {"kid": kid, "use": "sig"}, private=True)


@contextlib.contextmanager
def running_issuer() -> Iterator[Issuer]:
    """Runs an issuer on a free port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            status, headers, document = issuer.answer(parts.path, query, body)
            content = json.dumps(document).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815 - the name is http.server's

        def log_message(self, *_arguments: object) -> None:
            """Logs nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer = Issuer(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
