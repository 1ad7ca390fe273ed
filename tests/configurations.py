"""Functions that compile the text of a configuration and return its settings or its diagnostics."""

from collections.abc import Mapping
from pathlib import Path

from tornado_proxy.config.loading import Loaded, compile_configuration
from tornado_proxy.config.model import Settings, Target
from tornado_proxy.config.secrets import resolver
from tornado_proxy.rules.diagnostic import Severity, SourceFile, render

DIRECTORY = Path("etc")
ENV = {"ACCESS": "access", "SECRET": "secret", "ANN": "her password", "BOB": "his password"}

MINIMAL = "targets: {site: {bucket: {name: my-bucket}}}\n"


def compiled(text: str, env: Mapping[str, str] = ENV) -> Loaded:
    """The result of compiling a configuration."""
    return compile_configuration(SourceFile("config.yaml", text), DIRECTORY, resolver(env, DIRECTORY))


def settings(text: str) -> Settings:
    """The settings of a configuration without errors."""
    loaded = compiled(text)
    assert [diagnostic.message for diagnostic in loaded.diagnostics if diagnostic.severity is Severity.ERROR] == []
    assert loaded.settings
    return loaded.settings


def target(text: str) -> Target:
    """The target with these options; its bucket is added."""
    indented = "".join(f"    {line}\n" for line in text.splitlines())
    (only,) = settings(f"targets:\n  site:\n    bucket: {{name: my-bucket}}\n{indented}").targets
    return only


def codes_and_messages(text: str) -> list[tuple[str, str]]:
    """The code and the message of each diagnostic about a configuration, in order."""
    return [(diagnostic.code, diagnostic.message) for diagnostic in compiled(text).diagnostics]


def codes_and_messages_in_target(text: str) -> list[tuple[str, str]]:
    """The code and the message of each diagnostic about a target with these options; its bucket is added."""
    indented = "".join(f"    {line}\n" for line in text.splitlines())
    return codes_and_messages(f"targets:\n  site:\n    bucket: {{name: my-bucket}}\n{indented}")


def report(text: str) -> str:
    """All diagnostics about a configuration, printed with excerpts."""
    return "\n\n".join(render(diagnostic) for diagnostic in compiled(text).diagnostics)
