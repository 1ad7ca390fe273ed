"""What a template may read: the request that asked, who asked, the target, the key, and what the groups captured."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class User:
    """Who is signed in; `kind` is how: BASIC, HEADER or OIDC, as s3-proxy's templates see it, or CERTIFICATE."""

    username: str
    kind: str = "BASIC"
    email: str = ""
    groups: tuple[str, ...] = ()
    name: str = ""
    given_name: str = ""
    family_name: str = ""
    email_verified: bool = False

    @property
    def identifier(self) -> str:
        """What identifies a user: the name, else the email address."""
        return self.username or self.email


@dataclass(frozen=True, slots=True)
class RequestData:
    """The request as templates see it: `path` is decoded, `headers` and `query` keep order and repetition."""

    method: str = "GET"
    host: str = ""
    path: str = "/"
    raw_query: str = ""
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    scheme: str = "http"
    remote_address: str = ""


@dataclass(frozen=True, slots=True)
class HeaderFields:
    """The headers of a request alone, as sent: in Go's templates an http.Header."""

    pairs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectMetadata:
    """The metadata of an object, whose names have no case: in Go's templates a map[string]string, `M1-Key` in it."""

    pairs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class TargetData:
    """The target as templates see it: nothing secret, nothing that changes."""

    name: str = ""
    bucket_name: str = ""
    bucket_prefix: str = ""
    bucket_region: str = ""
    bucket_s3_endpoint: str = ""
    bucket_list_max_keys: int = 1000
    bucket_disable_ssl: bool = False
    mount_host: str = ""
    mount_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TargetKeyRewriteData:
    """The data about the incoming request that a target template can read, the connected user among it."""

    key: str
    user: User | None = None
    request: RequestData = field(default_factory=RequestData)
    target: TargetData = field(default_factory=TargetData)
