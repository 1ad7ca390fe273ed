"""Converts how uploads are stored: metadata, headers, storage class and canned ACL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args

from tornado_proxy.config import values
from tornado_proxy.config.actions import CannedAcl
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.tools.convert.options import Section
from tornado_proxy.tools.convert.output import Setting
from tornado_proxy.tools.convert.report import OptionOutcome, Remarks

_SYSTEM = ("cacheControl", "contentDisposition", "contentEncoding", "contentLanguage", "expires")


def upload_settings(config: Section, remarks: Remarks) -> Mapping[str, Setting]:
    """The options of PUT's `config`, but for webhooks."""
    settings: dict[str, Setting] = {"allowOverride": config.flag("allowOverride")}
    metadata, system = config.section("metadata"), config.section("systemMetadata")
    if metadata and (made := dict(_templates(metadata, tuple(metadata.pairs()), remarks))):
        settings["metadata"] = made
    if system and (made := dict(_templates(system, _SYSTEM, remarks))):
        settings["systemMetadata"] = made
    settings.update(_templates(config, ("storageClass",), remarks))
    acl = config.text("cannedACL")
    if acl in get_args(CannedAcl):
        settings["cannedACL"] = acl
    elif acl:
        message = f"`{acl}` is not a canned ACL"
        remarks.add(OptionOutcome.LEFT_OUT, f"{config.path}.cannedACL", config.place("cannedACL"), message)
    return settings


def _templates(section: Section, names: tuple[str, ...], remarks: Remarks) -> Iterator[tuple[str, Setting]]:
    """The templates that a section has by some names; those that are empty say nothing."""
    for name in names:
        text = section.text(name)
        try:
            if text and values.header_name(name):
                yield name, values.go_template(text)
        except InvalidValue as misfit:
            message = f"it {misfit.message}"
            remarks.add(OptionOutcome.LEFT_OUT, f"{section.path}.{name}", section.place(name), message, misfit.help)
