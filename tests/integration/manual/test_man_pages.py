"""The man pages in the wheel are correct for man-db, groff and mandoc."""

import os
import subprocess
import zipfile
from pathlib import Path

import pytest
from programs import built, output_of, program

pytestmark = pytest.mark.integration

UTF8 = {**os.environ, "LC_ALL": "C.UTF-8"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> list[Path]:
    """The man pages of the wheel."""
    for name in ("mandoc", "lexgrog"):
        program(name, "manual")
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(built("wheel", folder, SOURCE_DATE_EPOCH="1777593600")) as archive:
        archive.extractall(folder)
    return sorted(folder.glob("*.data/data/share/man/*/*"))


@pytest.mark.parametrize(
    "command",
    [["man", "--warnings", "--encoding=UTF-8", "--local-file"], ["mandoc", "-Tlint", "-Wwarning"]],
    ids=["groff", "mandoc"],
)
def test_the_pages_have_no_warning(pages, command):
    """Neither groff nor mandoc prints a warning."""
    assert [path.name for path in pages] == ["tornado-proxy.1", "tornado-proxy-rules.5", "tornado-proxy.yaml.5"]
    for path in pages:
        result = subprocess.run([*command, str(path)], env=UTF8, capture_output=True, text=True, check=False)
        output = result.stderr + (result.stdout if command[0] == "mandoc" else "")
        assert (result.returncode, output) == (0, ""), path.name


def test_the_pages_have_names_and_descriptions(pages):
    output = output_of("lexgrog", *pages)
    assert [line.partition(": ")[2].split(" - ")[0].strip('"') for line in output.splitlines()] == [
        "tornado-proxy",
        "tornado-proxy-rules",
        "tornado-proxy.yaml",
    ]
