"""The ways to sign in, and the resources that grant access: sections of the configuration."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import field

from tornado_proxy.config import values
from tornado_proxy.config.options import Mark, NoOption, OptionGroup, Pairs, SettingsSection
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.semantics.request import METHODS, Method

Line = Annotated[str, values.line]
HeaderName = Annotated[str, values.header_name]
HttpUrl = Annotated[GuardedUrl, values.http_url]
PagePath = Annotated[str, values.page_path]
UserName = Annotated[str, values.user_name]

Step = Literal["login", "callback", "logout"]
"""A page of a provider: a step of a sign-in."""


class BasicProvider(SettingsSection, frozen=True):
    """Basic authentication (RFC 7617) under a realm."""

    shape = "such as `{realm: Files}`"

    name: NoOption[str]
    realm: Line
    """The realm, which browsers show when they ask for the password."""


class OidcProvider(SettingsSection, frozen=True):
    """Sign-in by OpenID Connect: the authorization code flow with PKCE, and bearer tokens."""

    shape = "such as `{issuerUrl: https://id.example.org, clientID: me, clientSecret: {env: NAME}}`"

    name: NoOption[str]
    issuer_url: HttpUrl
    """The name of the issuer, a URL, as in its metadata and its tokens."""
    client_id: Line = field(name="clientID")
    """The client's identifier at the issuer."""
    client_secret: Secret | None = None
    """The client's secret; a public client has none."""
    session_key: Secret | None = None
    """The key of session cookies, at least 16 characters. Without it, `clientSecret` is the key."""
    redirect_url: HttpUrl | None = None
    """The public URL of this service. Without it, the request's scheme and host are used."""
    scopes: Annotated[tuple[Line, ...], Mark.NOT_EMPTY] = ("openid", "profile", "email")
    """The scopes that are requested. `offline_access` allows sessions to be renewed."""
    group_claim: Line = "groups"
    """The claim with the user's groups; dots select members of objects."""
    email_verified: bool = False
    """Whether only users with a verified email address may sign in."""
    cookie_name: HeaderName = "oidc"
    """The name of the session cookie."""
    cookie_secure: bool = False
    """Whether the cookie is `Secure` even if the request came by HTTP."""
    cookie_domains: tuple[Line, ...] = ()
    """Domains whose hosts share a session. The first one that contains the request's host is used. With `redirectUrl`,
    a sign-in may begin at any host that has one of them in common with its host."""
    login: PagePath = field(name="loginPath", default="")
    """The page that begins a login. The default is `/auth/NAME`."""
    callback: PagePath = field(name="callbackPath", default="")
    """The page that the issuer sends the browser back to. The default is `/auth/NAME/callback`."""
    logout: PagePath = field(name="logoutPath", default="")
    """The page that ends a session. The default is `/auth/NAME/logout`."""
    discovery_url: HttpUrl | None = None
    """The URL of the metadata, for an issuer that this service reaches at another address than its name. The default
    is `issuerUrl` and `/.well-known/openid-configuration`."""
    authorization_url: HttpUrl | None = None
    """The page of the issuer that signs in, as browsers reach it, instead of that of the metadata. With it, `tokenUrl`
    and `jwksUrl`, and without `discoveryUrl`, no metadata is read."""
    token_url: HttpUrl | None = None
    """Where this service gets tokens, instead of the URL of the metadata."""
    jwks_url: HttpUrl | None = None
    """Where this service gets the issuer's keys, instead of the URL of the metadata."""
    end_session_url: HttpUrl | None = None
    """The page of the issuer that signs out, as browsers reach it, instead of that of the metadata."""

    @property
    def pages(self) -> dict[Step, str]:
        """The paths of the provider's pages, by the step that each of them makes."""
        own = f"/auth/{self.name}"
        return {
            "login": self.login or own,
            "callback": self.callback or f"{own}/callback",
            "logout": self.logout or f"{own}/logout",
        }

    @property
    def bare_domains(self) -> tuple[str, ...]:
        """The domains of cookies without the dot that they may begin with."""
        return tuple(each.lstrip(".") for each in self.cookie_domains)

    def comes_back(self, host: str, back: str) -> bool:
        """Whether a browser that begins a sign-in at a host has its cookies where the issuer sends it back to."""
        is_unknown = not host or "*" in host
        shared = (all(contains_host(domain, each) for each in (host, back)) for domain in self.bare_domains)
        return is_unknown or host == back.lower() or any(shared)

    def session_secret(self) -> bytes:
        """Returns the secret that the keys of cookies are derived from."""
        secret = self.session_key or self.client_secret
        return secret.reveal().encode() if secret else b""


def contains_host(domain: str, host: str) -> bool:
    """Whether a cookie of a domain is sent to a host (RFC 6265 5.1.3)."""
    return f".{host}".endswith(f".{domain.lower()}")


class HeaderProvider(SettingsSection, frozen=True):
    """Sign-in by headers that a proxy in front sets; believed only from `server.trustedProxies`."""

    shape = "such as `{usernameHeader: X-Auth-Username, emailHeader: X-Auth-Email}`"

    name: NoOption[str]
    username_header: HeaderName
    """The header with the user's name."""
    email_header: HeaderName
    """The header with the user's email address."""
    groups_header: HeaderName | None = None
    """The header with the user's groups, separated by commas."""


class CertificateProvider(SettingsSection, frozen=True):
    """Sign-in by a certificate that the client shows in its TLS handshake."""

    name: NoOption[str]
    username: Literal["commonName", "email"] = "commonName"
    """The source of the user name: the subject's common name, or the email address in its alternative names."""


Provider = BasicProvider | OidcProvider | HeaderProvider | CertificateProvider


class AccessRule(SettingsSection, frozen=True):
    """A rule about who may pass: a group or an email address."""

    shape = "such as `{group: editors}`"

    group: Line | None = None
    """A group of the user."""
    email: Line | None = None
    """The user's email address."""
    regexp: bool = False
    """Whether `group` or `email` is a regular expression in Go's syntax, which may match anywhere."""
    forbidden: bool = False
    """Whether matching users are denied access."""


class OpaServer(SettingsSection, frozen=True):
    """An Open Policy Agent that decides who may pass."""

    shape = "such as `{url: http://127.0.0.1:8181/v1/data/files/allow}`"

    url: HttpUrl
    """The URL of the decision, below `/v1/data`."""
    tags: Pairs[str] = ()
    """Names and values that the policy gets as `input.tags`."""


class Authorization(SettingsSection, frozen=True):
    """The signed-in users who may pass; without rules, all of them."""

    accesses: tuple[AccessRule, ...] = field(name="authorizationAccesses", default=())
    """Rules in order. The first one that matches the user decides; without a match, access is denied."""
    opa: OpaServer | None = field(name="authorizationOPAServer", default=None)
    """A policy server that must also allow the request."""


def _with_head(methods: tuple[str, ...]) -> tuple[str, ...]:
    """The methods in the order of an Allow header; HEAD goes with GET."""
    named = {*methods} | ({"HEAD"} if "GET" in methods else set())
    return tuple(method for method in METHODS if method in named)


class BasicUser(SettingsSection, frozen=True):
    """A user of a resource and the password, or its bcrypt or argon2 hash."""

    shape = "such as `{user: ann, password: {env: NAME}}`"

    user: UserName
    """The name. It must be one segment of a path, because rules insert it into keys."""
    password: Annotated[Secret, Mark.MAY_BE_HASHED]
    """The password, or its bcrypt or argon2 hash."""


class Resource(SettingsSection, frozen=True):
    """Who may use the request paths that a glob covers; the first that matches path and method decides."""

    shape = "such as `{path: /public/**, whiteList: true}`"
    groups = (
        OptionGroup(
            "basic",
            "Access for users of a `basic` provider.",
            "such as `{credentials: [{user: ann, password: {env: NAME}}]}`",
        ),
    )

    path: Annotated[str, values.glob]
    """A glob that matches the whole request path, mount included: `*` within a segment, `**` across segments."""
    methods: Annotated[tuple[Method, ...], Mark.NOT_EMPTY, _with_head] = ("GET", "HEAD")
    """The methods that the resource covers. GET includes HEAD."""
    white_list: bool = False
    """Whether everyone has access without signing in."""
    provider: Line | None = None
    """The name of the provider, from `authProviders`, with which users sign in."""
    users: Annotated[tuple[BasicUser, ...], Mark.NOT_EMPTY] = field(name="basic.credentials", default=())
    """The users who have access."""
    opa: OpaServer | None = field(name="basic.authorizationOPAServer", default=None)
    """A policy server that must also allow the request."""
    oidc: Authorization | None = None
    """Access for users of an `oidc` provider."""
    header: Authorization | None = None
    """Access for users of a `header` provider."""
    client_certificate: Authorization | None = None
    """Access for users of a `clientCertificate` provider."""

    @property
    def authorization(self) -> Authorization | None:
        """The users who signed in without a password and may pass."""
        return self.oidc or self.header or self.client_certificate
