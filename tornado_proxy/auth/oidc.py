"""Sign-in by OpenID Connect: the authorization code flow with PKCE, sessions in encrypted cookies, bearer tokens.

Three paths belong to a provider. *Login* sends the browser to the provider with a sealed `state`, which has the page
to return to, and keeps a secret in a cookie of ten minutes, of which `nonce` and the PKCE verifier are made.
*Callback* takes both back and begins a session. *Logout* ends it here and at the provider. The process keeps no
state, so any instance can answer any step.

A cookie's value is JSON, compressed and encrypted with AES-256-GCM, and split into chunks if it is long. The key is
derived for one purpose (RFC 5869), so a cookie of one provider or kind cannot be used as another. The encrypted text
includes the time of expiry.

Sources: OpenID Connect Core 3.1, RP-Initiated Logout 1.0, RFC 7636 (PKCE), RFC 6750 (bearer tokens).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, quote_plus, urlencode, urlsplit

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from msgspec.structs import replace

from tornado_proxy.auth import authenticator, limits, oidc_provider
from tornado_proxy.auth.authenticator import Authenticator, ProviderAnswer, SignIn, SignInPage, is_cross_origin, origin
from tornado_proxy.auth.oidc_provider import Claims, GrantRefused, ProviderAway, ProviderError, TokenError, Tokens
from tornado_proxy.config.providers import OidcProvider, Step, contains_host
from tornado_proxy.config.values import Unshown
from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.routing.request import host_name
from tornado_proxy.semantics.request import READING, Request, User
from tornado_proxy.wire.dialing import Fetcher


class CookieTooLarge(Exception):
    """A value that does not fit into the cookies that browsers keep."""


class Sealer:
    """Seals values for one purpose with a secret of at least 16 bytes."""

    def __init__(self, secret: bytes, purpose: str) -> None:
        key = HKDF(SHA256(), 32, None, f"tornado-proxy cookie: {purpose}".encode()).derive(secret)
        self._cipher = AESGCM(key)

    def seal(self, value: Mapping[str, Any], expires: float) -> str:
        """Returns text that `unseal` reads until `expires`, in seconds since 1970."""
        plain = zlib.compress(json.dumps({"exp": expires, "value": value}, separators=(",", ":")).encode())
        nonce = os.urandom(limits.NONCE)
        return urlsafe_b64encode(nonce + self._cipher.encrypt(nonce, plain, None)).rstrip(b"=").decode()

    def unseal(self, text: str, now: float) -> dict[str, Any] | None:
        """Returns the value; None if the text was not made here, was changed, or has expired."""
        try:
            sealed = urlsafe_b64decode(text + "=" * (-len(text) % 4))
            plain = self._cipher.decrypt(sealed[: limits.NONCE], sealed[limits.NONCE :], None)
        except (InvalidTag, ValueError):
            return None
        unsealed = json.loads(zlib.decompress(plain))
        value: dict[str, Any] = unsealed["value"]
        return value if unsealed["exp"] > now else None


class CookieJar(msgspec.Struct, frozen=True):
    """How cookies are written: their name, scope and attributes (RFC 6265 4.1)."""

    name: str
    domain: str = ""
    secure: bool = True
    path: str = "/"

    def write(self, text: str, max_age: int, previous: Collection[str]) -> list[str]:
        """Returns the Set-Cookie values that keep a text, and remove chunks of `previous`; raises `CookieTooLarge`."""
        chunks = [text[start : start + limits.COOKIE_CHUNK] for start in range(0, len(text), limits.COOKIE_CHUNK)]
        if len(chunks) > limits.MOST_COOKIE_CHUNKS:
            raise CookieTooLarge(f"{len(text)} characters need more than {limits.MOST_COOKIE_CHUNKS} cookies")
        names = list(self._names())
        written = [self._line(name, chunk, max_age) for name, chunk in zip(names, chunks, strict=False)]
        return [*written, *(self._line(name, "", 0) for name in names[len(chunks) :] if name in previous)]

    def remove(self, previous: Collection[str]) -> list[str]:
        """Returns the values of Set-Cookie that remove what the request sent."""
        return [self._line(name, "", 0) for name in self._names() if name in previous]

    def texts(self, sent: Mapping[str, Sequence[str]]) -> list[str]:
        """Returns the texts that the cookies may make, of most chunks first: browsers keep old ones, and a domain's."""
        texts_by_name, texts = [], [""]
        for name in self._names():
            chunks = sent.get(name, ())[: limits.MOST_COOKIE_TEXTS]
            texts = [text + chunk for text in texts for chunk in chunks][: limits.MOST_COOKIE_TEXTS]
            texts_by_name.append(texts)
        return [text for texts in reversed(texts_by_name) for text in texts]

    def _names(self) -> Iterator[str]:
        yield self.name
        yield from (f"{self.name}.{number}" for number in range(1, limits.MOST_COOKIE_CHUNKS))

    def _line(self, name: str, value: str, max_age: int) -> str:
        # Lax: browsers send the cookie when a link leads here, but not with forms and scripts of other sites.
        attributes = [f"{name}={value}", f"Path={self.path}", f"Max-Age={max_age}", "HttpOnly", "SameSite=Lax"]
        if self.domain:
            attributes.append(f"Domain={self.domain}")
        if self.secure:
            attributes.append("Secure")
        return "; ".join(attributes)


def read_cookies(headers: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    """Returns the cookies of a request by name (RFC 6265 5.4), in order: no one says which of two is the right one."""
    cookies: dict[str, list[str]] = {}
    for name, value in headers:
        if name.lower() == "cookie":
            for pair in value.split(";"):
                cookie, separator, text = pair.strip(" \t").partition("=")
                if separator:
                    cookies.setdefault(cookie, []).append(text)
    return cookies


# What a header may contain, without `\`, which browsers read as `/`; all else is percent-encoded.
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F))).replace("\\", "")


class _Session(Unshown, frozen=True):
    """The session of a user; `host` is the host that set the cookie."""

    user: User
    expires: float
    host: str
    refresh_token: str = ""
    id_token: str = ""


class NotVerified(TokenError):
    """A user with an unverified email address, where the configuration requires a verified one."""


class OidcAuthenticator(Authenticator):
    """Signs in the users of one provider; `clock` gives the seconds since 1970."""

    def __init__(
        self,
        settings: OidcProvider,
        fetch: Fetcher,
        clock: Callable[[], float],
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self._provider = oidc_provider.Provider(settings, fetch, clock, timer)
        self._clock = clock
        key = settings.session_secret()
        purpose = f"{settings.issuer_url.reveal()} {settings.client_id} {settings.name}"
        self._sessions = Sealer(key, f"session {purpose}")
        self._logins = Sealer(key, f"login {purpose}")
        self._login_prefix = f"{settings.cookie_name}-login-"

    @property
    def pages(self) -> Mapping[Step, SignInPage]:
        """The pages with which browsers sign in and out."""
        return {"login": self.login, "callback": self.callback, "logout": self.logout}

    async def authenticate(self, request: Request, guard: SignedIn) -> SignIn | Refuse:  # noqa: ARG002 - the protocol
        """Returns the user of a bearer token or a session, or `Refuse`."""
        if (bearer := _bearer(request)) is not None:
            return await self._authenticate_token(bearer)
        texts = self._jar(request).texts(read_cookies(request.headers))
        if texts and request.method not in READING and is_cross_origin(request):
            return Refuse(403, "a page of another origin made the request")
        session = self._session(texts, request)
        if session is None or not self._is_verified(session.user):
            # A cookie of s3-proxy holds the ID token itself: users who signed in there stay signed in.
            token = next((text for text in texts if text.count(".") == 2), None)
            challenge = self._challenge(request)
            answer = await self._authenticate_token(token) if token else challenge
            # Unlike a program, a browser cannot leave out a token that does not count.
            return challenge if isinstance(answer, Refuse) and answer.status == 401 else answer
        return SignIn(session.user) if session.expires > self._clock() else await self._renew(session, request)

    async def _authenticate_token(self, token: str) -> SignIn | Refuse:
        try:
            return SignIn(self._user(await self._provider.verify(token)))
        except NotVerified as error:
            return Refuse(403, str(error))
        except TokenError as error:
            return Refuse(401, f"the token is not accepted: {error}", challenge='Bearer error="invalid_token"')
        except ProviderError as error:
            return Refuse(503, f"the provider cannot be reached: {error}")

    def _challenge(self, request: Request) -> Refuse:
        reason = f"nobody is signed in with `{self.settings.name}`"
        if not authenticator.opens_page(request):
            return Refuse(401, reason, challenge="Bearer")
        query = f"?{quote(request.raw_query, safe=_PRINTABLE, encoding='latin-1')}" if request.raw_query else ""
        page = origin(request) + quote(request.public(request.path), safe="/")
        # The login refuses an address that is too long.
        here = next((each for each in (page + query, page) if authenticator.leads_back(each, request)), "")
        return Refuse(307, reason, location=self._login_page(here, request))

    def _login_page(self, return_to: str, request: Request) -> str:
        return f"{request.public(self.settings.pages['login'])}?rd={quote_plus(return_to)}"

    async def _renew(self, session: _Session, request: Request) -> SignIn | Refuse:
        """Renews a session whose ID token has expired, if the provider agrees."""
        if not session.refresh_token:
            return self._challenge(request)
        try:
            tokens = await self._provider.renew(session.refresh_token)
            claims = await self._provider.verify(tokens.id_token)
            user = self._user(claims)
            if (user.username, user.email) != (session.user.username, session.user.email):
                return self._challenge(request)
            return SignIn(user, tuple(self._begin(user, float(claims["exp"]), tokens, request)))
        except ProviderAway as error:
            if session.expires + limits.AWAY_SECONDS > self._clock():
                return SignIn(session.user)
            return Refuse(503, f"the session cannot be renewed: {error}")
        except (ProviderError, TokenError):
            # An answer that does not name the user, such as one without an ID token, renews nothing.
            return self._challenge(request)

    async def login(self, request: Request) -> ProviderAnswer:
        """Sends the browser to the provider (Core 3.1.2.1)."""
        return_to = request.parameters.get("rd", "")
        if return_to and not authenticator.leads_back(return_to, request):
            return ProviderAnswer(400, reason="the address to return to is not one of this site")
        try:
            metadata = await self._provider.metadata()
        except ProviderError as error:
            return ProviderAnswer(502, reason=f"the provider cannot be reached: {error}")
        secret = secrets.token_urlsafe(24)
        # The issuer sends the browser to the host of `redirectUrl`, where the cookie must come along.
        url = self.settings.redirect_url
        back = host_name(urlsplit(url.reveal()).netloc) if url else request.host
        shared = (each for each in self._domains(request) if contains_host(each, back))
        domain = "" if back == request.host else next(shared, "")
        login = {"browser": _digest(secret), "return_to": quote(return_to, safe=_PRINTABLE), "domain": domain}
        state = self._logins.seal(login, self._clock() + limits.LOGIN_SECONDS)
        parameters = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": self._redirect_uri(request),
            "scope": " ".join(self.settings.scopes),
            "state": state,
            "nonce": _digest(f"nonce {secret}"),
            "code_challenge": _digest(_digest(f"verifier {secret}")),
            "code_challenge_method": "S256",
        }
        # Browsers send the oldest cookies first.
        sent = read_cookies(request.headers)
        waiting = [each for each in sent if each.startswith(self._login_prefix)]
        gone = (
            line for each in waiting[: 1 - limits.MOST_LOGINS] for line in self._jar(request, each, domain).remove(sent)
        )
        kept = self._jar(request, self._login_name(state), domain).write(secret, limits.LOGIN_SECONDS, {})
        return ProviderAnswer(302, _with_query(metadata.authorization_endpoint, parameters), (*kept, *gone))

    async def callback(self, request: Request) -> ProviderAnswer:
        """Receives a code and begins a session (Core 3.1.2.5)."""
        query, cookies = request.parameters, read_cookies(request.headers)
        state = query.get("state", "")
        # One that took too long still says where it was to lead.
        login = self._logins.unseal(state, 0) or {"browser": "", "return_to": "", "domain": ""}
        return_to = login["return_to"] or request.public("/")
        jar = self._jar(request, self._login_name(state), login["domain"])
        secret = next((each for each in jar.texts(cookies) if _is_same(_digest(each), login["browser"])), None)
        if secret is None or self._logins.unseal(state, self._clock()) is None:
            reason = "the login was not begun in this browser, has ended, or took too long"
            return self._send_on(ProviderAnswer(400, reason=reason), return_to, request)
        # The cookie is removed in every case, so that a state can be used only once.
        used = tuple(jar.remove(cookies))
        try:
            if "error" in query or not query.get("code"):
                raise GrantRefused("the provider sent no code")
            begun = await self._accept(query["code"], secret, request)
        except NotVerified as error:
            return ProviderAnswer(403, reason=str(error), cookies=used)
        except (ProviderError, TokenError) as error:
            status = 401 if isinstance(error, GrantRefused | TokenError) else 502
            failed = ProviderAnswer(status, reason=f"the login is not accepted: {error}", cookies=used)
            return self._send_on(failed, return_to, request)
        return ProviderAnswer(307, return_to, (*used, *begun))

    def _send_on(self, failed: ProviderAnswer, return_to: str, request: Request) -> ProviderAnswer:
        """Sends a browser that is signed in, perhaps by another tab, where it was going; else offers another login."""
        # Who began the login may have invented a host for it, and sent this browser the state.
        is_shared = any(contains_host(each, urlsplit(return_to).hostname or "") for each in self._domains(request))
        place = return_to if is_shared or authenticator.leads_back(return_to, request) else request.public("/")
        session = self._session(self._jar(request).texts(read_cookies(request.headers)), request)
        if session is not None and self._is_verified(session.user):
            return replace(failed, status=307, location=place)
        return replace(failed, location=self._login_page(place, request))

    async def _accept(self, code: str, secret: str, request: Request) -> list[str]:
        """Redeems a code and returns the cookies of the session; raises `ProviderError` and `TokenError`."""
        tokens = await self._provider.redeem(code, _digest(f"verifier {secret}"), self._redirect_uri(request))
        claims = await self._provider.verify(tokens.id_token)
        if not _is_same(str(claims.get("nonce", "")), _digest(f"nonce {secret}")):
            raise TokenError("the token was made for another login")
        return self._begin(self._user(claims), float(claims["exp"]), tokens, request)

    async def logout(self, request: Request) -> ProviderAnswer:
        """Ends the session here and at the provider (RP-Initiated Logout 2), for a POST of a page of this origin."""
        if is_cross_origin(request):
            return ProviderAnswer(403, reason="a page of another origin made the request")
        cookies = read_cookies(request.headers)
        jar = self._jar(request)
        session = self._session(jar.texts(cookies), request)
        # Those of the whole host, too: a session may have begun before a proxy took a path off.
        gone = tuple(line for path in {jar.path, "/"} for line in replace(jar, path=path).remove(cookies))
        try:
            end = (await self._provider.metadata()).end_session_endpoint
        except ProviderError:
            end = ""
        if not end:
            return ProviderAnswer(303, request.public("/"), gone)
        parameters = {"client_id": self.settings.client_id, "post_logout_redirect_uri": f"{self._site(request)}/"}
        if session and session.id_token:
            parameters["id_token_hint"] = session.id_token
        return ProviderAnswer(303, _with_query(end, parameters), gone)

    def _user(self, claims: Claims) -> User:
        """Returns the user of claims; raises `TokenError`, `NotVerified` among them."""
        user = oidc_provider.user_of(claims, self.settings.group_claim)
        if not self._is_verified(user):
            raise NotVerified("the user's email address is not verified")
        return user

    def _is_verified(self, user: User) -> bool:
        return user.email_verified or not self.settings.email_verified

    def _session(self, texts: Iterable[str], request: Request) -> _Session | None:
        """Returns the first session in texts of cookies that this host set."""
        for text in texts:
            unsealed = self._sessions.unseal(text, self._clock())
            if unsealed is not None and unsealed["host"] in (request.host, *self._domains(request)):
                return msgspec.convert(unsealed, _Session)
        return None

    def _begin(self, user: User, expires: float, tokens: Tokens, request: Request) -> list[str]:
        """Returns the cookies of a session; without the hint for the logout if they would be too large."""
        now, sent = self._clock(), read_cookies(request.headers)
        kept_until = max(expires, now + limits.RENEWABLE_SECONDS) if tokens.refresh_token else expires
        if kept_until <= now:
            raise TokenError("the token has expired; the clocks of the provider and this service may differ")
        jar = self._jar(request)
        for id_token in (tokens.id_token, ""):
            session = _Session(user, expires, jar.domain or request.host, tokens.refresh_token, id_token)
            try:
                return jar.write(
                    self._sessions.seal(msgspec.to_builtins(session), kept_until), int(kept_until - now), sent
                )
            except CookieTooLarge:
                continue
        raise TokenError(f"the session of `{user.username}` does not fit into cookies")

    def _jar(self, request: Request, name: str = "", domain: str | None = None) -> CookieJar:
        """Returns the jar of the session, or of a login."""
        domain = next(iter(self._domains(request)), "") if domain is None else domain
        is_secure = self.settings.cookie_secure or request.scheme == "https"
        return CookieJar(name or self.settings.cookie_name, domain, is_secure, request.public_path or "/")

    def _login_name(self, state: str) -> str:
        # One short cookie a login: many tabs may begin theirs before the first cookie has come.
        return f"{self._login_prefix}{_digest(state)[:12]}"

    def _domains(self, request: Request) -> list[str]:
        """Returns the configured domains that contain the request's host."""
        return [each for each in self.settings.bare_domains if contains_host(each, request.host)]

    def _site(self, request: Request) -> str:
        """Returns the public URL of this service; that of the configuration may have a path of its own."""
        if (url := self.settings.redirect_url) is None:
            return origin(request) + request.public_path
        site = url.reveal().rstrip("/")
        return site if urlsplit(site).path else site + request.public_path

    def _redirect_uri(self, request: Request) -> str:
        return self._site(request) + self.settings.pages["callback"]


def _digest(text: str) -> str:
    """The S256 code challenge of a verifier (RFC 7636 4.2)."""
    return urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def _is_same(text: str, other: str) -> bool:
    return hmac.compare_digest(text.encode(), other.encode())


def _with_query(url: str, parameters: Mapping[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(parameters)}"


def _bearer(request: Request) -> str | None:
    """The token of an Authorization header (RFC 6750 2.1), or None; empty, and so refused, if there are two headers."""
    sent = authenticator.header_values(request, "authorization")
    if len(sent) > 1:
        return ""
    scheme, _, token = "".join(sent).partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None
