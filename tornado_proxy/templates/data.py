"""What templates can read beside a request and its user: targets, uploads, metadata, and all of it together."""

from __future__ import annotations

import msgspec

from tornado_proxy.semantics.request import Request, User


class AnyUser(User, frozen=True):
    """A user in a sample of data: one that has the fields of all kinds of users."""


class HeaderFields(msgspec.Struct, frozen=True):
    """The headers of a request as sent; an http.Header in Go templates."""

    pairs: tuple[tuple[str, str], ...] = ()


class ObjectMetadata(msgspec.Struct, frozen=True):
    """The metadata of an object; a map[string]string in Go templates, with names such as `M1-Key`."""

    pairs: tuple[tuple[str, str], ...] = ()


class ResourceData(msgspec.Struct, frozen=True):
    """A resource of a target, without its users."""

    path: str
    methods: tuple[str, ...] = ()
    provider: str = ""
    white_list: bool = False


class TargetData(msgspec.Struct, frozen=True):
    """The target's settings that templates can read; none of them is secret. Rules see no actions and no resources."""

    name: str = ""
    bucket_name: str = ""
    bucket_prefix: str = ""
    bucket_region: str = ""
    bucket_s3_endpoint: str = ""
    bucket_list_max_keys: int = 1000
    bucket_disable_ssl: bool = False
    mount_host: str = ""
    mount_paths: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()  # the methods that are enabled
    resources: tuple[ResourceData, ...] = ()


class TargetKeyRewriteData(msgspec.Struct, frozen=True):
    """The data of a rendering: the key, the user, the request and the target."""

    key: str
    user: User | None = None
    request: Request = msgspec.field(default_factory=Request)
    target: TargetData = msgspec.field(default_factory=TargetData)


class PutInput(msgspec.Struct, frozen=True):
    """An upload as templates see it, in s3-proxy's names; `request_path` is the path below the mount."""

    request_path: str
    filename: str
    content_type: str
    content_size: int
    request_headers: HeaderFields


class PutData(msgspec.Struct, frozen=True):
    """The data of the templates of an upload's properties; `key` is the object's, with the prefix."""

    user: User | None
    input: PutInput
    key: str
