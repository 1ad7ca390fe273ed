"""Converts the webhooks of an action."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tornado_proxy.config import values
from tornado_proxy.config.quantities import DAY
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.tools.convert.options import Section
from tornado_proxy.tools.convert.output import Setting
from tornado_proxy.tools.convert.report import OptionOutcome, Remarks
from tornado_proxy.tools.convert.values import reference, seconds

_METHODS = ("POST", "PATCH", "PUT", "DELETE")


def webhooks(config: Section, remarks: Remarks) -> list[Setting]:
    """The webhooks of an action's `config`; one that cannot be said here is left out."""
    found: list[Setting] = []
    for section in config.sections("webhooks"):
        try:
            found.append(_webhook(section, remarks))
        except InvalidValue as misfit:
            section.settle()
            message = f"a webhook is left out: it {misfit.message}"
            remarks.add(OptionOutcome.LEFT_OUT, section.path, section.span, message, misfit.help)
    return found


def _webhook(section: Section, remarks: Remarks) -> Mapping[str, Setting]:
    method = section.text("method")
    if method not in _METHODS:
        raise InvalidValue(f"has the method `{method}`", "one of POST, PATCH, PUT and DELETE")
    settings: dict[str, Setting] = {"method": method, "url": values.http_url(section.text("url"))}
    headers, secret = section.section("headers"), section.section("secretHeaders")
    if headers and (told := headers.pairs()):
        values.header_values(values.header_pairs(tuple(told.items())))
        settings["headers"] = told
    if secret and (named := dict(_secrets(secret, remarks))):
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


def _secrets(section: Section, remarks: Remarks) -> Iterator[tuple[str, Setting]]:
    for name, each in section.named():
        found = reference(each, remarks)
        if found is not None:
            yield values.header_name(name), found
