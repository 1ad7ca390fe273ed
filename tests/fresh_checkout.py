"""What a stranger has: a clone of the last commit, an empty home, and none of the variables of a test run."""

import os
from pathlib import Path

from programs import ROOT, output_of

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# How this machine reaches package indexes.
_INDEX_VARIABLES = ("PIP_", "SSL_", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def clone(folder: Path) -> Path:
    """Clones the last commit of this checkout into a folder, and returns the folder."""
    output_of("git", "clone", "--quiet", ROOT, folder)
    return folder


def clean_environment(home: Path, *programs: Path) -> dict[str, str]:
    """Returns the variables of somebody who has just logged in, with folders that come first on the path."""
    index = {name: value for name, value in os.environ.items() if name.startswith(_INDEX_VARIABLES)}
    return {**index, "HOME": str(home), "LANG": "C.UTF-8", "PATH": ":".join([*map(str, programs), SYSTEM_PATH])}
