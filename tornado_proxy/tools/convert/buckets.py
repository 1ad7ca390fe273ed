"""Converts the bucket of a target: where it is, how uploads are stored, and where events are posted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, get_args

from tornado_proxy.config import values
from tornado_proxy.config.actions import CannedAcl
from tornado_proxy.config.options import DAY, MIB
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.tools.convert.options import OptionOutcome, Section, reference, seconds
from tornado_proxy.tools.convert.output import Setting

_MOST_KEYS = 1000
_LEAST_PART, _MOST_PART = 5, 5 * 1024  # MiB
_DEFAULT_PART = 5


class ConvertedBucket(NamedTuple):
    """A bucket's settings, and its prefix as s3-proxy has it."""

    settings: Mapping[str, Setting]
    configured_prefix: str


class Unservable(Exception):
    """A target that cannot be converted; the text is the reason."""


def bucket(section: Section) -> ConvertedBucket:
    """The bucket; raises `Unservable`."""
    configured = section.text("prefix")
    settings: dict[str, Setting] = {"name": _named(section)}
    _add_prefix(configured, section, settings)
    settings["region"] = section.text("region", "us-east-1")
    _add_endpoint(section, settings)
    # s3-proxy's client asks in path style by default.
    settings["s3ForcePathStyle"] = section.flag("s3ForcePathStyle", default=True)
    _add_credentials(section, settings)
    _add_list_size(section, settings)
    _add_part_size(section, settings)
    return ConvertedBucket(settings, configured)


def _named(section: Section) -> str:
    name = section.text("name")
    try:
        return values.bucket_name(name)
    except InvalidValue as misfit:
        raise Unservable(f"the bucket's name `{name}` {misfit.message}") from None


def _add_prefix(configured: str, section: Section, settings: dict[str, Setting]) -> None:
    try:
        directory = values.prefix(configured)
    except InvalidValue as misfit:
        raise Unservable(f"the prefix `{configured}` {misfit.message}") from None
    if "//" in directory:
        raise Unservable(
            f"the prefix `{configured}` holds an empty segment, which s3-proxy's SDK takes out of some calls"
        )
    if directory:
        settings["prefix"] = directory.removesuffix("/")
    if configured.startswith("/"):
        message = (
            f"`{configured}` is the directory `{directory}`: s3-proxy reads and writes there too, but lists below"
            f" `{configured}`, where there is nothing"
        )
        section.remark(OptionOutcome.CHANGED, "prefix", message)


def _add_endpoint(section: Section, settings: dict[str, Setting]) -> None:
    endpoint = section.text("s3Endpoint")
    if endpoint:
        try:
            settings["s3Endpoint"] = values.endpoint(endpoint)
        except InvalidValue as misfit:
            raise Unservable(f"the endpoint `{endpoint}` {misfit.message}") from None
    if section.flag("disableSSL"):
        settings["disableSSL"] = True


def _add_credentials(section: Section, settings: dict[str, Setting]) -> None:
    credentials = section.section("credentials")
    if credentials is None:
        return
    access = reference(credentials.section("accessKey"))
    secret = reference(credentials.section("secretKey"))
    if access and secret:
        settings["credentials"] = {"accessKey": access, "secretKey": secret}
        return
    message = "one of the two keys is missing, and s3-proxy then uses neither; here credentials are looked for as well"
    credentials.remark(OptionOutcome.CHANGED, "", message, place=section.place("credentials"))


def _add_list_size(section: Section, settings: dict[str, Setting]) -> None:
    size = section.whole("s3ListMaxKeys", _MOST_KEYS)
    if size == _MOST_KEYS:
        return
    settings["s3ListMaxKeys"] = max(1, min(size, _MOST_KEYS))
    message = f"listings come in pages of at most {_MOST_KEYS} entries with a link to the next; s3-proxy cuts them off"
    section.remark(OptionOutcome.CHANGED, "s3ListMaxKeys", message)


def _add_part_size(section: Section, settings: dict[str, Setting]) -> None:
    if "s3UploadPartSize" not in section:
        return
    size = section.whole("s3UploadPartSize", _DEFAULT_PART)
    if _LEAST_PART <= size <= _MOST_PART:
        settings["partSize"] = f"{size}MiB"
        return
    message = f"a part has {_LEAST_PART * MIB} bytes to 5 GiB"
    section.remark(OptionOutcome.LEFT_OUT, "s3UploadPartSize", message)


_SYSTEM = ("cacheControl", "contentDisposition", "contentEncoding", "contentLanguage", "expires")


def upload_settings(config: Section) -> Mapping[str, Setting]:
    """The options of PUT's `config`, but for webhooks."""
    settings: dict[str, Setting] = {"allowOverride": config.flag("allowOverride")}
    metadata, system = config.section("metadata"), config.section("systemMetadata")
    if metadata and (made := dict(_templates(metadata, tuple(metadata.pairs())))):
        settings["metadata"] = made
    if system and (made := dict(_templates(system, _SYSTEM))):
        settings["systemMetadata"] = made
    settings.update(_templates(config, ("storageClass",)))
    acl = config.text("cannedACL")
    if acl in get_args(CannedAcl):
        settings["cannedACL"] = acl
    elif acl:
        message = f"`{acl}` is not a canned ACL"
        config.remark(OptionOutcome.LEFT_OUT, "cannedACL", message)
    return settings


def _templates(section: Section, names: tuple[str, ...]) -> Iterator[tuple[str, Setting]]:
    """The templates that a section has by some names; those that are empty say nothing."""
    for name in names:
        text = section.text(name)
        try:
            if text and values.header_name(name):
                yield name, values.go_template(text)
        except InvalidValue as misfit:
            message = f"it {misfit.message}"
            section.remark(OptionOutcome.LEFT_OUT, name, message, misfit.help)


_METHODS = ("POST", "PATCH", "PUT", "DELETE")


def webhooks(config: Section) -> list[Setting]:
    """The webhooks of an action's `config`; one that cannot be converted is left out."""
    found: list[Setting] = []
    for section in config.sections("webhooks"):
        try:
            found.append(_webhook(section))
        except InvalidValue as misfit:
            section.settle()
            message = f"a webhook is left out: it {misfit.message}"
            section.remark(OptionOutcome.LEFT_OUT, "", message, misfit.help)
    return found


def _webhook(section: Section) -> Mapping[str, Setting]:
    method = section.text("method")
    if method not in _METHODS:
        raise InvalidValue(f"has the method `{method}`", "one of POST, PATCH, PUT and DELETE")
    settings: dict[str, Setting] = {"method": method, "url": values.http_url(section.text("url"))}
    headers, secret = section.section("headers"), section.section("secretHeaders")
    if headers and (pairs := headers.pairs()):
        values.header_values(values.header_pairs(tuple(pairs.items())))
        settings["headers"] = pairs
    if secret and (named := dict(_secrets(secret))):
        settings["secretHeaders"] = named
    if count := section.whole("retryCount", 0):
        settings["retryCount"] = min(count, 100)
    for name in ("defaultWaitTime", "maxWaitTime"):
        if text := section.text(name):
            duration = seconds(section, name)
            if not 0 <= duration <= DAY:
                raise InvalidValue(f"has the {name} `{text}`, which is not within a day")
            settings[name] = f"{int(duration * 1000)}ms"
    return settings


def _secrets(section: Section) -> Iterator[tuple[str, Setting]]:
    for name, each in section.named():
        found = reference(each)
        if found is not None:
            yield values.header_name(name), found
