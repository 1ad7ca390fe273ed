"""Puts the man pages into the wheel."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManPages(BuildHookInterface):  # type: ignore[type-arg]
    """Makes the pages in a directory that lasts as long as the build."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make them, unless the checkout itself is installed."""
        if version == "editable":
            return
        sys.path.insert(0, str(Path(self.root) / "packaging"))
        from manual import write  # noqa: PLC0415 - beside this file, which is no package

        self._folder = tempfile.TemporaryDirectory()
        write(Path(self._folder.name), self.metadata.version)
        build_data["shared_data"][self._folder.name] = "share/man"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling's
        """Remove the directory."""
        if version != "editable":
            self._folder.cleanup()
