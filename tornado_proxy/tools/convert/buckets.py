"""Converts an s3-proxy bucket section."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tornado_proxy.config import values
from tornado_proxy.config.quantities import MIB
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.tools.convert.options import Section
from tornado_proxy.tools.convert.output import Setting
from tornado_proxy.tools.convert.report import OptionOutcome, Remarks
from tornado_proxy.tools.convert.values import reference

_MOST_KEYS = 1000
_LEAST_PART, _MOST_PART = 5, 5 * 1024  # MiB
_DEFAULT_PART = 5


class ConvertedBucket(NamedTuple):
    """A bucket's settings, and its prefix as s3-proxy has it."""

    settings: Mapping[str, Setting]
    configured_prefix: str


class Unservable(Exception):
    """A target that cannot be said here at all; the text is the reason."""


def bucket(section: Section, remarks: Remarks) -> ConvertedBucket:
    """The bucket; raises `Unservable`."""
    configured = section.text("prefix")
    settings: dict[str, Setting] = {"name": _named(section)}
    _add_prefix(configured, section, settings, remarks)
    settings["region"] = section.text("region", "us-east-1")
    _add_endpoint(section, settings)
    # s3-proxy's client asks in path style by default.
    settings["s3ForcePathStyle"] = section.flag("s3ForcePathStyle", default=True)
    _add_credentials(section, settings, remarks)
    _add_list_size(section, settings, remarks)
    _add_part_size(section, settings, remarks)
    return ConvertedBucket(settings, configured)


def _named(section: Section) -> str:
    name = section.text("name")
    try:
        return values.bucket_name(name)
    except InvalidValue as misfit:
        raise Unservable(f"the bucket's name `{name}` {misfit.message}") from None


def _add_prefix(configured: str, section: Section, settings: dict[str, Setting], remarks: Remarks) -> None:
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
        remarks.add(OptionOutcome.CHANGED, f"{section.path}.prefix", section.place("prefix"), message)


def _add_endpoint(section: Section, settings: dict[str, Setting]) -> None:
    endpoint = section.text("s3Endpoint")
    if endpoint:
        try:
            settings["s3Endpoint"] = values.endpoint(endpoint)
        except InvalidValue as misfit:
            raise Unservable(f"the endpoint `{endpoint}` {misfit.message}") from None
    if section.flag("disableSSL"):
        settings["disableSSL"] = True


def _add_credentials(section: Section, settings: dict[str, Setting], remarks: Remarks) -> None:
    credentials = section.section("credentials")
    if credentials is None:
        return
    access = reference(credentials.section("accessKey"), remarks)
    secret = reference(credentials.section("secretKey"), remarks)
    if access and secret:
        settings["credentials"] = {"accessKey": access, "secretKey": secret}
        return
    message = "one of the two keys is missing, and s3-proxy then uses neither; here credentials are looked for as well"
    remarks.add(OptionOutcome.CHANGED, credentials.path, section.place("credentials"), message)


def _add_list_size(section: Section, settings: dict[str, Setting], remarks: Remarks) -> None:
    size = section.whole("s3ListMaxKeys", _MOST_KEYS)
    if size == _MOST_KEYS:
        return
    settings["s3ListMaxKeys"] = max(1, min(size, _MOST_KEYS))
    message = f"listings come in pages of at most {_MOST_KEYS} entries with a link to the next; s3-proxy cuts them off"
    remarks.add(OptionOutcome.CHANGED, f"{section.path}.s3ListMaxKeys", section.place("s3ListMaxKeys"), message)


def _add_part_size(section: Section, settings: dict[str, Setting], remarks: Remarks) -> None:
    if "s3UploadPartSize" not in section:
        return
    size = section.whole("s3UploadPartSize", _DEFAULT_PART)
    if _LEAST_PART <= size <= _MOST_PART:
        settings["partSize"] = f"{size}MiB"
        return
    message = f"a part has {_LEAST_PART * MIB} bytes to 5 GiB"
    remarks.add(OptionOutcome.LEFT_OUT, f"{section.path}.s3UploadPartSize", section.place("s3UploadPartSize"), message)
