"""Archives written as their members arrive, read by other programs' rules."""

from __future__ import annotations

import io
import tarfile
import zipfile
from datetime import UTC, datetime

import pytest

from tornado_proxy.gateway.archive_formats import ArchiveMember, TarArchive, ZipArchive

CHANGED = datetime(2026, 5, 1, 12, 34, 56, tzinfo=UTC)
CONTENTS = {
    "d/a.txt": b"hello",
    "d/empty": b"",
    "d/Größe 日本.txt": b"x" * 1000,
    f"d/{'long' * 60}/{'name' * 60}": b"y" * 513,
    "d/<script>alert(1)</script>": b"z",
}


def _written(make, contents, modified=CHANGED):
    members = [ArchiveMember(path, len(content), modified) for path, content in contents.items()]
    archive, data = make(members), b""
    for member in members:
        content = contents[member.path]
        data += archive.begin(member)
        data += archive.write(content[:3]) + archive.write(content[3:])
        data += archive.finish()
    data += archive.end()
    return archive.length, data


@pytest.mark.parametrize("make", [ZipArchive, TarArchive])
@pytest.mark.parametrize("contents", [CONTENTS, {}, {"a": b"b"}])
def test_the_length_is_known_before(make, contents):
    """To the byte, so that a client notices a download that was cut."""
    length, data = _written(make, contents)
    assert length == len(data)


def test_a_zip_holds_what_was_put_in():
    """Names, contents, checksums and times; nothing is compressed."""
    _, data = _written(ZipArchive, CONTENTS)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        assert {each.filename: archive.read(each) for each in archive.infolist()} == CONTENTS
        assert {each.date_time for each in archive.infolist()} == {(2026, 5, 1, 12, 34, 56)}


def test_a_tar_holds_what_was_put_in():
    """Names of any length and script, contents and times."""
    _, data = _written(TarArchive, CONTENTS)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        assert {each.name: archive.extractfile(each).read() for each in archive} == CONTENTS
        assert {each.mtime for each in archive} == {CHANGED.timestamp()}


@pytest.mark.parametrize("year", [1, 1970, 1980, 2107, 2200])
def test_a_zip_says_the_nearest_time_that_it_can(year):
    """MS-DOS knows the years from 1980 to 2107."""
    _, data = _written(ZipArchive, {"a": b""}, datetime(year, 6, 1, tzinfo=UTC))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.infolist()[0].date_time[0] == min(max(year, 1980), 2107)


@pytest.mark.parametrize("limit", [1, 100, 300, 700, 1000, 10_000])
def test_a_large_zip_has_the_fields_of_zip64(monkeypatch, limit):
    """Where sizes or offsets pass the limit, here a small one, the length is right all the same."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", limit)
    length, data = _written(ZipArchive, CONTENTS | {f"d/{number}": b"x" * 90 for number in range(9)})
    assert length == len(data)


@pytest.mark.parametrize("limit", [3, len(CONTENTS), len(CONTENTS) + 1])
def test_a_zip_of_many_files_has_the_fields_of_zip64(monkeypatch, limit):
    """The old form counts to 65,535."""
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", limit)
    length, data = _written(ZipArchive, CONTENTS)
    assert length == len(data)
