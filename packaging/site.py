"""Adds a built manual to the published ones: `python packaging/site.py BUILT PUBLISHED VERSION`.

Each minor version has a directory; `latest` is the newest of them, and `versions.json` fills the menu of versions. The
form of that file is mike's, which the theme reads; mike itself runs MkDocs only.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

_REDIRECT = '<!doctype html>\n<meta http-equiv="refresh" content="0; url=latest/">\n<a href="latest/">The manual</a>\n'


def publish(built: Path, published: Path, version: str) -> None:
    """Copies the manual of a version, such as `0.1.2`, over that of its minor version, and lists it."""
    minor = ".".join(version.split(".")[:2])
    versions = sorted({minor, *_versions(published)}, key=lambda name: [int(part) for part in name.split(".")])
    latest = versions[-1]
    for name in (minor, *(("latest",) if minor == latest else ())):
        shutil.rmtree(published / name, ignore_errors=True)
        shutil.copytree(built, published / name)
    entries = [{"version": name, "title": name, "aliases": ["latest"] * (name == latest)} for name in versions[::-1]]
    (published / "versions.json").write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")
    (published / "index.html").write_text(_REDIRECT, encoding="utf-8")


def _versions(published: Path) -> list[str]:
    path = published / "versions.json"
    return [entry["version"] for entry in json.loads(path.read_text(encoding="utf-8"))] if path.exists() else []


if __name__ == "__main__":
    publish(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
