"""Configuration files written in tests: compiled, asserted to be sound, or asked for what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tornado_proxy.config.loading import Loaded, compile_configuration
from tornado_proxy.config.model import Settings, Target
from tornado_proxy.config.secrets import resolver
from tornado_proxy.lang.diagnostic import Severity, SourceFile
from tornado_proxy.lang.excerpt import render

DIRECTORY = Path("etc")
ENV = {"ACCESS": "access", "SECRET": "secret", "ANN": "her password", "BOB": "his password"}

MINIMAL = "targets: {site: {bucket: {name: my-bucket}}}\n"


def compiled(text: str, env: Mapping[str, str] = ENV) -> Loaded:
    """What a text is as a configuration."""
    return compile_configuration(SourceFile("config.yaml", text), DIRECTORY, resolver(env, DIRECTORY))


def settings(text: str) -> Settings:
    """The settings of a text in which nothing is wrong."""
    loaded = compiled(text)
    assert [each.message for each in loaded.diagnostics if each.severity is Severity.ERROR] == []
    assert loaded.settings
    return loaded.settings


def target(text: str) -> Target:
    """The target of a text that stands for the inside of one, `bucket` left out."""
    indented = "".join(f"    {line}\n" for line in text.splitlines())
    (only,) = settings(f"targets:\n  site:\n    bucket: {{name: my-bucket}}\n{indented}").targets
    return only


def complaints(text: str) -> list[tuple[str, str]]:
    """The code and the message of each diagnostic about a text, in order."""
    return [(each.code, each.message) for each in compiled(text).diagnostics]


def complaints_about_target(text: str) -> list[tuple[str, str]]:
    """The same about the inside of a target, `bucket` left out."""
    indented = "".join(f"    {line}\n" for line in text.splitlines())
    return complaints(f"targets:\n  site:\n    bucket: {{name: my-bucket}}\n{indented}")


def report(text: str) -> str:
    """All diagnostics about a text, as people see them."""
    return "\n\n".join(render(each) for each in compiled(text).diagnostics)
