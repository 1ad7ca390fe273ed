"""The configuration, rule files and secret of a service in a folder, for tests that edit them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tornado_proxy.service.snapshot import Configuration, Snapshot, compile_snapshot, read_snapshot

CONFIGURATION = """
server: {port: 0}
internalServer: {port: 0}
rules: [rules]
targets:
  site:
    mount: {path: [/]}
    bucket: {name: some-bucket, region: eu-west-1, credentials: {accessKey: {env: ACCESS}, secretKey: {path: secret}}}
"""
ENVIRONMENT = {"ACCESS": "access"}


@dataclass(frozen=True)
class Files:
    """A folder with a configuration, rule files and the file of a secret."""

    folder: Path

    @classmethod
    def create(cls, folder: Path, **rule_files: str) -> Files:
        """Writes new files; `site="…"` becomes `rules/site.rules`."""
        files = cls(folder)
        (folder / "rules").mkdir()
        files.configure(CONFIGURATION)
        (folder / "secret").write_text("s3cret\n")
        for name, text in (rule_files or {"site": ""}).items():
            files.write(text, name)
        return files

    @property
    def configuration(self) -> Path:
        """The path of the configuration."""
        return self.folder / "proxy.yaml"

    def configure(self, text: str) -> None:
        """Writes the configuration."""
        self.configuration.write_text(text, encoding="utf-8")

    def path(self, name: str = "site") -> Path:
        """The path of a rule file."""
        return self.folder / "rules" / f"{name}.rules"

    def write(self, statements: str, name: str = "site") -> None:
        """Writes a rule file with the statements in a block of the target `site`."""
        self.path(name).write_text(f"target site {{\n{statements}\n}}\n", encoding="utf-8")

    def read(self) -> Snapshot:
        """Reads a snapshot of the files."""
        return read_snapshot(self.configuration, ENVIRONMENT)

    def load(self) -> Configuration:
        """Reads and compiles a snapshot of the files."""
        return compile_snapshot(self.read())
