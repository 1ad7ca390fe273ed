"""Rule files for workers that hang."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from tornado_proxy.rules.loading import Read, RuleFile


@dataclass(frozen=True)
class HangsOnce:
    """Rule files whose first reading, in any process, hangs for some seconds; `mark` gets the pid of who hangs."""

    rules: Read
    mark: str
    seconds: float
    diagnostics: tuple[()] = ()
    lists: tuple[()] = ()

    @property
    def files(self) -> tuple[RuleFile, ...]:
        """The files."""
        try:
            with Path(self.mark).open("x") as mark:
                mark.write(str(os.getpid()))
            time.sleep(self.seconds)
        except FileExistsError:
            pass
        return self.rules.files

    def list_file(self, path: str) -> bytes:
        """The content of a list."""
        return self.rules.list_file(path)
