"""The ways to sign in, and the resources that grant access: sections of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from tornado_proxy.config import values
from tornado_proxy.config.options import Mark, OptionGroup, flag, option, optional, place_of, several
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.lang.diagnostic import Span
from tornado_proxy.semantics.request import METHODS, Method

Line = Annotated[str, values.line]
HeaderName = Annotated[str, values.header_name]
HttpUrl = Annotated[GuardedUrl, values.http_url]
PagePath = Annotated[str, values.page_path]
UserName = Annotated[str, values.user_name]
Glob = Annotated[str, values.glob]

SHORTEST_KEY = 16
"""The fewest characters of a secret that encrypts sessions; a shorter one could be guessed."""


@dataclass(frozen=True, slots=True)
class BasicProvider:
    """Basic authentication (RFC 7617) under a realm."""

    shape: ClassVar[str] = "such as `{realm: Files}`"

    name: str
    realm: Line = option("The realm, which browsers show when they ask for the password.")


@dataclass(frozen=True, slots=True)
class OidcProvider:
    """Sign-in by OpenID Connect: the authorization code flow with PKCE, and bearer tokens."""

    shape: ClassVar[str] = "such as `{issuerUrl: https://id.example.org, clientID: me, clientSecret: {env: NAME}}`"

    name: str
    issuer_url: HttpUrl = option("The URL of the issuer, as in its metadata.")
    client_id: Line = option("The client's identifier at the issuer.", name="clientID")
    client_secret: Secret | None = optional("The client's secret; a public client has none.")
    session_key: Secret | None = optional(
        "The key of session cookies, at least 16 characters. Without it, `clientSecret` is the key."
    )
    redirect_url: HttpUrl | None = optional(
        "The public URL of this service. Without it, the request's scheme and host are used."
    )
    scopes: Annotated[tuple[Line, ...], Mark.NOT_EMPTY] = option(
        "The scopes that are requested. `offline_access` allows sessions to be renewed.",
        default=("openid", "profile", "email"),
    )
    group_claim: Line = option("The claim with the user's groups; dots select members of objects.", default="groups")
    email_verified: bool = flag("Whether only users with a verified email address may sign in.")
    cookie_name: HeaderName = option("The name of the session cookie.", default="oidc")
    cookie_secure: bool = flag("Whether the cookie is `Secure` even if the request came by HTTP.")
    cookie_domains: tuple[Line, ...] = several(
        "Domains whose hosts share a session. The first one that contains the request's host is used."
    )
    login: PagePath = option("The page that begins a login. The default is `/auth/NAME`.", default="", name="loginPath")
    callback: PagePath = option(
        "The page that the issuer sends the browser back to. The default is `/auth/NAME/callback`.",
        default="",
        name="callbackPath",
    )
    logout: PagePath = option(
        "The page that ends a session. The default is `/auth/NAME/logout`.", default="", name="logoutPath"
    )

    @property
    def login_path(self) -> str:
        """The path of the page that begins a login."""
        return self.login or f"/auth/{self.name}"

    @property
    def callback_path(self) -> str:
        """The path of the page that the issuer sends the browser back to."""
        return self.callback or f"/auth/{self.name}/callback"

    @property
    def logout_path(self) -> str:
        """The path of the page that ends a session."""
        return self.logout or f"/auth/{self.name}/logout"

    def session_secret(self) -> bytes:
        """Returns the secret that the keys of cookies are derived from."""
        secret = self.session_key or self.client_secret
        return secret.reveal().encode() if secret else b""


@dataclass(frozen=True, slots=True)
class HeaderProvider:
    """Sign-in by headers that a proxy in front sets; believed only from `server.trustedProxies`."""

    shape: ClassVar[str] = "such as `{usernameHeader: X-Auth-Username, emailHeader: X-Auth-Email}`"

    name: str
    username_header: HeaderName = option("The header with the user's name.")
    email_header: HeaderName = option("The header with the user's email address.")
    groups_header: HeaderName | None = optional("The header with the user's groups, separated by commas.")


@dataclass(frozen=True, slots=True)
class CertificateProvider:
    """Sign-in by a certificate that the client shows in its TLS handshake."""

    name: str
    username: Literal["commonName", "email"] = option(
        "The source of the user name: the subject's common name, or the email address in its alternative names.",
        default="commonName",
    )


Provider = BasicProvider | OidcProvider | HeaderProvider | CertificateProvider


@dataclass(frozen=True, slots=True)
class AccessRule:
    """A rule about who may pass: a group or an email address."""

    shape: ClassVar[str] = "such as `{group: editors}`"

    group: Line | None = optional("A group of the user.")
    email: Line | None = optional("The user's email address.")
    regexp: bool = flag("Whether `group` or `email` is a regular expression in Go's syntax, which may match anywhere.")
    forbidden: bool = flag("Whether matching users are denied access.")


@dataclass(frozen=True, slots=True)
class OpaServer:
    """An Open Policy Agent that decides who may pass."""

    shape: ClassVar[str] = "such as `{url: http://127.0.0.1:8181/v1/data/files/allow}`"

    url: HttpUrl = option("The URL of the decision, below `/v1/data`.")
    tags: Annotated[tuple[tuple[str, str], ...], Mark.PAIRS] = several(
        "Names and values that the policy gets as `input.tags`."
    )


@dataclass(frozen=True, slots=True)
class Authorization:
    """The signed-in users who may pass; without rules, all of them."""

    accesses: tuple[AccessRule, ...] = several(
        "Rules in order. The first one that matches the user decides; without a match, access is denied.",
        name="authorizationAccesses",
    )
    opa: OpaServer | None = optional("A policy server that must also allow the request.", name="authorizationOPAServer")


def _with_head(methods: tuple[str, ...]) -> tuple[str, ...]:
    """The methods in the order of an Allow header; HEAD goes with GET."""
    named = {*methods} | ({"HEAD"} if "GET" in methods else set())
    return tuple(method for method in METHODS if method in named)


@dataclass(frozen=True, slots=True)
class BasicUser:
    """A user of a resource and the password, or its bcrypt or argon2 hash."""

    shape: ClassVar[str] = "such as `{user: ann, password: {env: NAME}}`"

    user: UserName = option("The name. It must be one segment of a path, because rules insert it into keys.")
    password: Annotated[Secret, Mark.MAY_BE_HASHED] = option("The password, or its bcrypt or argon2 hash.")
    span: Span | None = place_of("password")


_RESOURCE_BASIC = OptionGroup(
    "basic", "Access for users of a `basic` provider.", "such as `{credentials: [{user: ann, password: {env: NAME}}]}`"
)


@dataclass(frozen=True, slots=True)
class Resource:
    """Who may use the request paths that a glob covers; the first that matches path and method decides."""

    shape: ClassVar[str] = "such as `{path: /public/**, whiteList: true}`"

    path: Glob = option(
        "A glob that matches the whole request path, mount included: `*` within a segment, `**` across segments."
    )
    methods: Annotated[tuple[Method, ...], Mark.NOT_EMPTY, _with_head] = option(
        "The methods that the resource covers. GET includes HEAD.", default=("GET", "HEAD")
    )
    white_list: bool = flag("Whether everyone has access without signing in.")
    provider: Line | None = optional("The name of the provider, from `authProviders`, with which users sign in.")
    users: Annotated[tuple[BasicUser, ...], Mark.NOT_EMPTY] = several(
        "The users who have access.", name="credentials", group=_RESOURCE_BASIC
    )
    opa: OpaServer | None = optional(
        "A policy server that must also allow the request.", name="authorizationOPAServer", group=_RESOURCE_BASIC
    )
    oidc: Authorization | None = optional("Access for users of an `oidc` provider.")
    header: Authorization | None = optional("Access for users of a `header` provider.")
    client_certificate: Authorization | None = optional("Access for users of a `clientCertificate` provider.")

    @property
    def authorization(self) -> Authorization | None:
        """The users who signed in without a password and may pass."""
        return self.oidc or self.header or self.client_certificate


AUTH_PROVIDERS = OptionGroup("authProviders", "The ways to sign in.")
