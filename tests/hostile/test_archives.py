"""Archives of directories whose names meet when they are unpacked, and of files that change while they are listed."""

import io
import tarfile
import zipfile
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_store import MemoryStore
from serving import serve

from tornado_proxy.config.model import ArchiveOptions, ListingOptions
from tornado_proxy.web.archive import distinct

LISTING = ListingOptions(archive=ArchiveOptions(enabled=True))


@pytest.mark.parametrize("name", ["zip", "tar"])
async def test_a_file_and_a_directory_of_one_name_are_unpacked(tmp_path, name):
    """S3 has `a` beside `a/b`; all files are there after Python's readers have unpacked them."""
    keys = ["a", "a/b", "a/b/c", "a (2)", "A", "A/b", "e:", "e_/x", "Ä", "A\u0308", "f.", "f", "g /x", "g"]
    async with serve({f"d/{key}": key.encode() for key in keys}, listing=LISTING) as site:
        content = io.BytesIO((await site.get(f"/d/?format={name}")).body)
    _unpack(name, content, tmp_path)
    paths = [path for path in tmp_path.rglob("*") if path.is_file()]
    unpacked = {path.read_text(): str(path.relative_to(tmp_path / "d")) for path in paths}
    assert sorted(unpacked) == sorted(keys)
    assert len({normalize("NFC", each.casefold()) for each in unpacked.values()}) == len(keys)
    assert (unpacked["a/b/c"], unpacked["a (2)"]) == ("a/b/c", "a (2)")


@pytest.mark.parametrize("name", ["zip", "tar"])
async def test_names_that_are_too_long_for_a_file_system_are_cut(tmp_path, name):
    """S3 takes 1,024 bytes between two slashes, Linux 255: Python's readers would stop at the first such name."""
    keys = [f"{'é' * 150}1.txt", f"{'é' * 150}2.txt", f"{'x' * 300}/a", "y" * 255, f"{'y' * 255}z", f"a.{'z' * 400}"]
    async with serve({f"d/{key}": key.encode() for key in keys}, listing=LISTING) as site:
        content = io.BytesIO((await site.get(f"/d/?format={name}")).body)
    _unpack(name, content, tmp_path)
    unpacked = {path.read_text(): path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert sorted(unpacked) == sorted(keys)
    assert unpacked["y" * 255] == "y" * 255
    assert [name for key, name in unpacked.items() if key.endswith(".txt") and not name.endswith(".txt")] == []


def _unpack(name, content, folder):
    with zipfile.ZipFile(content) if name == "zip" else tarfile.open(fileobj=content) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.3 has none
        archive.extractall(folder)


PATHS = st.lists(st.text("aAäÄ\u0308ß./() 2_:ſs", min_size=1, max_size=7), unique=True)


@given(PATHS)
def test_no_path_is_another_one_where_names_are_folded(paths):
    """Where case, the form of Unicode, and dots and spaces at the end do not count, each file has a place of its own."""

    def folded(path):
        names = (normalize("NFC", normalize("NFD", name).casefold()).rstrip(". ") for name in path.split("/"))
        return "/".join(names)

    files = [folded(path) for path in distinct(paths)]
    directories = {file[:at] for file in files for at, each in enumerate(file) if each == "/" and at}
    assert len({*files}) == len(files)
    assert directories.isdisjoint(files)


@pytest.mark.parametrize("change", [b"other", b"longer than before", None])
async def test_a_first_file_that_changes_is_no_mistake_of_the_client(change):
    """A client that sent no condition gets no 412, no 404 and no 5xx that blames S3, but is asked to try again."""

    class Changing(MemoryStore):
        """A store in which a file is replaced or removed after the archive has listed it, which is the second time."""

        lists = 0

        async def list(self, prefix, after=None, limit=1000):
            found = await super().list(prefix, after, limit)
            self.lists += 1
            if self.lists == 2:
                await self.remove("d/a")
                if change is not None:
                    self.add("d/a", change)
            return found

    for name in ("zip", "tar"):
        store = Changing()
        store.add("d/a", b"hello")
        async with serve(store, listing=LISTING) as site:
            answer = await site.get(f"/d/?format={name}")
            again = await site.get(f"/d/?format={name}")
        assert (answer.status, "retry-after" in answer.headers) == (503, True)
        assert again.status == (404 if change is None else 200)
