"""The exit statuses: a contract that CI builds on, the same for every subcommand."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """What a command ends with."""

    CLEAN = 0
    FINDINGS = 1  # the files are wrong: diagnostics, failed tests, differences
    FAILED = 2  # the tool could not do its work: usage, files that cannot be read, a dead port
