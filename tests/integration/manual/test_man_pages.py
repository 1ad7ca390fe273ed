"""The man pages in the wheel are correct for man-db, groff and mandoc."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
UTF8 = {**os.environ, "LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": "1777593600"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> list[Path]:
    """The man pages of the wheel."""
    if not shutil.which("mandoc") or not shutil.which("lexgrog"):
        pytest.skip("no mandoc or man-db: run `tests/integration/install manual`")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, env=UTF8)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
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
    """`whatis` and `apropos` find a name and a description in each page."""
    output = subprocess.run(["lexgrog", *map(str, pages)], capture_output=True, text=True, check=True).stdout
    assert [line.partition(": ")[2].split(" - ")[0].strip('"') for line in output.splitlines()] == [
        "tornado-proxy",
        "tornado-proxy-rules",
        "tornado-proxy.yaml",
    ]
