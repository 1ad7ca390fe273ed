"""Clients that people use: each sees all of a directory of 2,500 files and nothing else, and the bytes of a file."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import real_s3
from programs import output_of, program
from running import new_bucket, start_proxy

pytestmark = pytest.mark.integration

CONFIGURATION = """
targets:
  site:
    bucket: {{name: {name}, s3Endpoint: "{endpoint}", s3ForcePathStyle: true}}
    actions: {{GET: {{config: {{redirectWithTrailingSlashForNotFoundFile: true}}}}}}
"""
MANY = [f"{number:04}.txt" for number in range(2500)]
LARGE = bytes(range(256)) * 40_000
ODD = ["a b.txt", "colon:time.txt", "per%41.txt", "größe.txt", "what?#.txt", "sub/x.txt"]


@pytest.fixture(scope="module")
def url(tmp_path_factory) -> Iterator[str]:
    """The address of a service in front of a bucket with many files, odd names, wheels and a repository."""
    folder = tmp_path_factory.mktemp("clients")
    repository = _repository(folder / "work")
    with real_s3.moto() as endpoint, new_bucket(endpoint.url, "clients") as bucket:
        wheels = [f"simple/manyproj/manyproj-1.{number}-py3-none-any.whl" for number in range(1200)]
        for key in (*(f"many/{name}" for name in MANY), *(f"odd/{name}" for name in ODD), *wheels):
            endpoint.backend.put_object(bucket.name, key, key.encode())
        for name in _files(repository):
            bucket.put(f"repository.git/{name}", (repository / name).read_bytes())
        bucket.put("large.bin", LARGE)
        for path in _packages(folder / "debian"):
            bucket.put(f"debian/{path.name}", path.read_bytes())
        with start_proxy(folder, CONFIGURATION.format(name=bucket.name, endpoint=endpoint.url)) as proxy:
            yield proxy.url


def _repository(folder: Path) -> Path:
    """Returns a repository of one commit, as Git clones it over plain HTTP."""
    git = ["git", "-c", "user.name=ann", "-c", "user.email=ann@example.org", "-C", str(folder)]
    folder.mkdir()
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"], ["update-server-info"]):
        output_of(*git, *command)
    return folder / ".git"


def _packages(folder: Path) -> list[Path]:
    """Returns a package, whose name has a `+` and a `~`, and the list of it, as APT reads them."""
    (folder / "made/DEBIAN").mkdir(parents=True)
    fields = "Package: a-sample\nVersion: 1.0+x~1\nArchitecture: all\nMaintainer: ann <ann@example.org>\nDescription: a sample\n"
    (folder / "made/DEBIAN/control").write_text(fields)
    output_of("dpkg-deb", "--build", "made", "a-sample_1.0+x~1_all.deb", cwd=folder)
    (folder / "Packages").write_text(output_of("dpkg-scanpackages", ".", cwd=folder))
    return [each for each in folder.iterdir() if each.is_file()]


def _run(folder: Path, *command: str) -> list[str]:
    """Returns the lines that a program writes."""
    return output_of(program(command[0], "clients"), *command[1:], cwd=folder, timeout=300).splitlines()


def _files(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())


def test_rclone_mirrors_all_and_deletes_nothing(url, tmp_path):
    """A second `sync` into the full copy leaves it as it is; names with a colon are asked for as `./colon:time.txt`."""
    remote = ["--http-url", url, "--config", ""]
    assert sorted(_run(tmp_path, "rclone", "lsf", *remote, ":http:many")) == MANY
    for _ in range(2):
        _run(tmp_path, "rclone", "sync", *remote, ":http:many", "many")
        assert _files(tmp_path / "many") == MANY
    _run(tmp_path, "rclone", "sync", *remote, ":http:odd", "odd")
    assert _files(tmp_path / "odd") == sorted(ODD)


def test_lftp_mirrors_all(url, tmp_path):
    """A mirror has each file, with its time and size from the listing."""
    _run(tmp_path, "lftp", "-c", f"open {url}; mirror many many; mirror odd odd")
    assert _files(tmp_path / "many") == MANY
    assert _files(tmp_path / "odd") == sorted(ODD)


def test_wget_mirrors_all(url, tmp_path):
    """A mirror has each file and one page for each directory."""
    _run(tmp_path, "wget", "-q", "--mirror", "--no-parent", "--no-host-directories", f"{url}/many/")
    assert _files(tmp_path / "many") == [*MANY, "index.html"]


@pytest.mark.parametrize("places", ["--no-index --find-links={url}/simple/manyproj/", "--index-url={url}/simple/"])
def test_pip_finds_all_wheels(url, tmp_path, places):
    """All of 1,200 versions are found, on a page of links and in an index."""
    command = ["/usr/bin/python3", "-m", "pip", "--no-cache-dir", "index", "versions", "manyproj"]
    (versions,) = [line for line in _run(tmp_path, *command, *places.format(url=url).split()) if "Available" in line]
    assert versions.count("1.") == 1200


def test_git_clones(url, tmp_path):
    """A repository is cloned without a listing."""
    _run(tmp_path, "git", "clone", "-q", f"{url}/repository.git", "cloned")
    assert _run(tmp_path / "cloned", "git", "log", "--format=%s") == ["first"]


SCRIPT = """
import sys, fsspec
files = fsspec.filesystem("http")
print(len(files.ls(sys.argv[1] + "/many/")), *sorted(files.find(sys.argv[1] + "/odd/")), sep="\\n")
"""


def test_fsspec_finds_the_entries_alone(url, tmp_path):
    """`find` has the files, and no link that is none."""
    count, *found = _run(tmp_path, "/usr/bin/python3", "-c", SCRIPT, url)
    assert (int(count), len(found)) == (2500, len(ODD))


def test_gdal_reads_the_directory(url, tmp_path):
    """`ReadDir` knows the listing by its title."""
    script = "import sys; from osgeo import gdal; print(*gdal.ReadDir('/vsicurl/' + sys.argv[1] + '/many/'), sep='\\n')"
    assert sorted(_run(tmp_path, "/usr/bin/python3", "-c", script, url)) == MANY


@pytest.mark.parametrize(
    "command",
    [
        "curl --silent --fail --output got {url}/large.bin",
        "curl --silent --fail --continue-at - --output begun {url}/large.bin",
        "wget --quiet --continue --output-document=begun {url}/large.bin",
        "aria2c --quiet --split=8 --max-connection-per-server=8 --min-split-size=1M --out=got {url}/large.bin",
        "axel --quiet --num-connections=6 --output=got {url}/large.bin",
    ],
    ids=lambda command: command.partition(" {")[0],
)
def test_a_file_arrives_whole(url, tmp_path, command):
    """At once, in several connections, and the rest of one that was begun."""
    (tmp_path / "begun").write_bytes(LARGE[:1_000_000])
    _run(tmp_path, *command.format(url=url).split())
    assert (tmp_path / ("begun" if "begun" in command else "got")).read_bytes() == LARGE


def test_apt_reads_a_repository(url, tmp_path):
    """The list is read, and a package with `+` and `~` in its name is fetched."""
    (tmp_path / "sources.list").write_text(f"deb [trusted=yes] {url}/debian ./\n")
    (tmp_path / "lists/partial").mkdir(parents=True)
    places = {"etc::sourcelist": "sources.list", "etc::sourceparts": "none", "state::lists": "lists", "cache": "cache"}
    options = [f"-oDir::{name}={tmp_path / place}" for name, place in places.items()]
    options += ["-oAPT::Sandbox::User=root", "-oDir::State::status=/dev/null"]
    _run(tmp_path, "apt-get", "update", *options)
    _run(tmp_path, "apt-get", "download", *options, "a-sample")
    assert (tmp_path / "a-sample_1.0+x~1_all.deb").stat().st_size > 0
