"""Where a target of s3-proxy is mounted."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tornado_proxy.config import values
from tornado_proxy.config.values import Misfit
from tornado_proxy.tools.convert.buckets import Unservable
from tornado_proxy.tools.convert.configuration_text import Setting
from tornado_proxy.tools.convert.report import Outcome, Remarks
from tornado_proxy.tools.convert.section import Section

_PORT = re.compile(r":[0-9]+\Z")


def mount(section: Section, remarks: Remarks) -> Mapping[str, Setting]:
    """The mount; raises `Unservable`."""
    settings: dict[str, Setting] = {}
    host = section.text("host")
    if host not in ("", "*"):
        settings["host"] = _host(host, section, remarks)
    settings["path"] = [_path(each.value) for each in section.texts("path")] or ["/"]
    return settings


def _host(host: str, section: Section, remarks: Remarks) -> str:
    bare = _PORT.sub("", host)
    try:
        here = values.host(bare)
    except Misfit as misfit:
        raise Unservable(f"the host `{host}` {misfit.message}") from None
    if bare != host:
        message = f"`{host}` is `{bare}`, on any port: hosts are compared without their port"
        remarks.add(Outcome.CHANGED, f"{section.path}.host", section.place("host"), message)
    if re.search(r"[^.*]\*|\*[^.*]", bare):
        message = f"each `*` of `{bare}` stands for one character at least; for s3-proxy it may stand for nothing"
        remarks.add(Outcome.CHANGED, f"{section.path}.host", section.place("host"), message)
    return here


def _path(path: str) -> str:
    if set(path) & set("{}*"):
        raise Unservable(f"the mount path `{path}` is a pattern of s3-proxy's router")
    try:
        return values.mount_path(path)
    except Misfit as misfit:
        raise Unservable(f"the mount path `{path}` {misfit.message}") from None
