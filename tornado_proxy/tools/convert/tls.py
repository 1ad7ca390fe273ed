"""Converts `ssl` of s3-proxy's two servers: certificates in the text become files beside the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from tornado_proxy.config.tls import file_reference
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.tools.convert.options import Section, refusal
from tornado_proxy.tools.convert.output import Setting
from tornado_proxy.tools.convert.report import OptionOutcome, Remarks
from tornado_proxy.tools.convert.values import reference, seconds

_PARTS = {"certificate": "crt", "privateKey": "key"}  # with the endings of their files


def ssl(server: Section, files: dict[str, str], remarks: Remarks) -> dict[str, Setting]:
    """The listener's `ssl`, if it is enabled; texts of certificates and keys are added to `files`."""
    section = server.section("ssl")
    if section is None:
        return {}
    if not section.flag("enabled"):
        section.settle()
        return {}
    found: dict[str, Setting] = {}
    certificates = [
        _certificate(each, f"certificates/{server.path}-{number}", files, remarks)
        for number, each in enumerate(section.sections("certificates"), start=1)
    ]
    if certificates:
        found["certificates"] = certificates
    if names := [each.value for each in section.texts("selfSignedHostnames")]:
        found["selfSignedHostnames"] = names
    for name in ("minTLSVersion", "maxTLSVersion"):
        if version := section.text(name):
            found[name] = version
    if suites := [each.value for each in section.texts("cipherSuites")]:
        found["cipherSuites"] = suites
    return {"ssl": found}


def _certificate(section: Section, stem: str, files: dict[str, str], remarks: Remarks) -> Mapping[str, Setting]:
    found: dict[str, Setting] = {}
    for name, ending in _PARTS.items():
        if text := section.text(name):
            files[f"{stem}.{ending}"] = text
            found[f"{name}Url"] = f"{stem}.{ending}"
            if f"{name}Url" in section:
                place = section.place(f"{name}Url")
                raise refusal(place, f"`{name}` and `{name}Url` are both given, so that s3-proxy does not start")
            continue
        if url := section.text(f"{name}Url"):
            found[f"{name}Url"] = url
            _remark_on_file(url, section, f"{name}Url", remarks)
        if config := section.section(f"{name}UrlConfig"):
            found[f"{name}UrlConfig"] = _url_config(config, remarks)
    return found


def _remark_on_file(url: str, section: Section, name: str, remarks: Remarks) -> None:
    try:
        file = file_reference(url)
    except (InvalidValue, ValueError):
        return  # which is reported when the configuration is loaded, as s3-proxy did
    if file is not None and not PurePosixPath(file.text).is_absolute():
        message = f"`{url}` starts from the directory of the configuration file, not from the working directory"
        remarks.add(OptionOutcome.CHANGED, f"{section.path}.{name}", section.place(name), message, "write it in full")


def _url_config(section: Section, remarks: Remarks) -> Mapping[str, Setting]:
    found: dict[str, Setting] = {}
    if text := section.text("httpTimeout"):
        duration = seconds(section, "httpTimeout")
        if duration < 0:
            place = section.place("httpTimeout")
            raise refusal(place, f"`{text}` is less than nothing, so that s3-proxy does not start")
        if duration:
            found["httpTimeout"] = f"{duration:f}s"
    for name in ("awsRegion", "awsEndpoint"):
        if text := section.text(name):
            found[name] = text
    if section.flag("awsDisableSSL"):
        found["awsDisableSSL"] = True
    if keys := section.section("awsCredentials"):
        access = reference(keys.section("accessKey"), remarks)
        secret = reference(keys.section("secretKey"), remarks)
        if access and secret:
            found["awsCredentials"] = {"accessKey": access, "secretKey": secret}
    return found
