"""The copy of the last good snapshot; tests/end_to_end starts services from it."""

import asyncio
import json

import pytest
from files import ENVIRONMENT, Files

from tornado_proxy.service.last_good import COPY, LastGood, NoLastGood, keep_each
from tornado_proxy.service.snapshot import read_snapshot


@pytest.fixture
def files(tmp_path):
    """A configuration with one rewrite."""
    (tmp_path / "set").mkdir()
    return Files.create(tmp_path / "set", site='rewrite a `^/a$` -> "/b"')


@pytest.fixture
def snapshot(files):
    """A snapshot of the files."""
    return files.read()


@pytest.fixture
def last_good(snapshot, tmp_path):
    """A directory with the copy of the snapshot."""
    last_good = LastGood(tmp_path / "kept")
    last_good.keep(snapshot)
    return last_good


def test_the_copy_of_another_version_is_read(files, tmp_path):
    """Its form stays: a field that this version does not know is ignored, one that came later may be missing."""
    last_good = LastGood(tmp_path)
    rules = [{"name": "a.rules", "data": "dGFyZ2V0IHNpdGUgeyByZXdyaXRlIGBeL2EkYCAtPiAiL2IiIH0="}]
    text = files.configuration.read_text()
    copy = {"configuration": str(files.configuration), "text": text, "rules": rules, "templates": [], "later": 1}
    last_good.directory.joinpath(COPY).write_text(json.dumps(copy))
    (file,) = last_good.read(files.configuration, ENVIRONMENT).rules.files
    assert (file.name, file.data) == ("a.rules", b'target site { rewrite `^/a$` -> "/b" }')


def test_a_copy_belongs_to_one_configuration(last_good, tmp_path):
    with pytest.raises(NoLastGood, match="has the copy of"):
        last_good.read(tmp_path / "other.yaml", ENVIRONMENT)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b'{"rules": [], "templates": []}',
        b'{"configuration": "", "text": "", "rules": [["a"]], "templates": []}',
        b'{"configuration": "", "text": "", "rules": [["a", 1]], "templates": []}',
    ],
)
def test_a_damaged_copy_is_not_used(last_good, files, content):
    (last_good.directory / COPY).write_bytes(content)
    with pytest.raises(NoLastGood, match="has no copy"):
        last_good.read(files.configuration, ENVIRONMENT)


def test_the_reason_for_a_missing_copy_is_that_of_the_system(files, tmp_path):
    """The directory is named once."""
    with pytest.raises(NoLastGood) as caught:
        LastGood(tmp_path).read(files.configuration, ENVIRONMENT)
    assert str(caught.value) == f"`{tmp_path}` has no copy: No such file or directory"


def test_only_the_owner_can_read_a_copy(last_good):
    """The modes of directory and file exclude other users, since a configuration can contain secrets."""
    modes = [path.stat().st_mode & 0o777 for path in (last_good.directory, last_good.directory / COPY)]
    assert modes == [0o700, 0o600]


def test_bytes_that_are_not_text_are_kept(last_good, files):
    (files.folder / "rules" / "site.rules").write_bytes(b'rewrite `^/a` -> "/b" # \xff')
    snapshot = files.read()
    last_good.keep(snapshot)
    assert last_good.read(files.configuration, ENVIRONMENT).rules == snapshot.rules


def test_the_copy_of_another_configuration_is_not_replaced(last_good, files, snapshot, tmp_path):
    """A second service with the same directory reports the conflict and keeps no copy."""
    other = files.folder / "other.yaml"
    other.write_bytes(files.configuration.read_bytes())
    last_good = LastGood(tmp_path / "kept")
    last_good.keep(read_snapshot(other, ENVIRONMENT))
    assert last_good.trouble == (
        f"`{tmp_path}/kept` has the copy of `{files.configuration}`; each configuration needs a directory of its own"
    )
    assert last_good.read(files.configuration, ENVIRONMENT).digest == snapshot.digest


class _BlockedLastGood(LastGood):
    """A copy at a directory that is a file until the first failure."""

    def __init__(self, directory, loop):
        super().__init__(directory)
        directory.touch()
        self.kept = asyncio.Event()
        self._loop = loop

    def keep(self, snapshot):
        """Keep the snapshot; after a failure, remove the file."""
        super().keep(snapshot)
        if self.trouble:
            self.directory.unlink()
        else:
            self._loop.call_soon_threadsafe(self.kept.set)


async def test_a_failed_copy_is_retried(snapshot, tmp_path, caplog):
    """A failure is logged once, and the snapshot is kept as soon as this is possible."""
    caplog.set_level("INFO", "tornado_proxy")
    loop = asyncio.get_running_loop()
    last_good = _BlockedLastGood(tmp_path / "kept", loop)
    keeping = loop.create_task(keep_each(last_good, lambda: snapshot, asyncio.Event(), retry=0.001))
    await last_good.kept.wait()
    keeping.cancel()
    await asyncio.wait([keeping])
    messages = [record.getMessage() for record in caplog.records]
    warning = f"the last good snapshot is not kept: `{tmp_path / 'kept'}` cannot be written: File exists"
    assert messages[0] == warning
    assert messages[1:] in ([], ["the last good snapshot is kept again"])


async def test_a_change_during_a_copy_is_kept(snapshot, tmp_path):
    """An edit while a slow disk stores the previous snapshot causes another copy."""
    loop, changed, kept_again, kept = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event(), []

    class Slow(LastGood):
        """A copy that gets an edit while it keeps the first snapshot."""

        def keep(self, snapshot):
            kept.append(snapshot)
            loop.call_soon_threadsafe((changed if len(kept) == 1 else kept_again).set)

    keeping = loop.create_task(keep_each(Slow(tmp_path), lambda: snapshot, changed))
    await kept_again.wait()
    keeping.cancel()
    await asyncio.wait([keeping])


def test_a_copy_replaces_the_previous_one(last_good, files):
    """The directory has one file; a longer temporary file of a killed process leaves no bytes in the next copy."""
    copy = last_good.directory / COPY
    copy.with_name(f"{COPY}.new").write_bytes(copy.read_bytes() * 2)
    files.write('rewrite `^/b$` -> "/c"')
    last_good.keep(files.read())
    assert last_good.read(files.configuration, ENVIRONMENT).digest == files.read().digest
    assert [path.name for path in last_good.directory.iterdir()] == [COPY]


def test_templates_are_kept(last_good, files):
    files.configure(files.configuration.read_text() + "templates: {put: {path: p.tpl}}\n")
    (files.folder / "p.tpl").write_text("stored")
    snapshot = files.read()
    last_good.keep(snapshot)
    (files.folder / "p.tpl").unlink()
    copy = last_good.read(files.configuration, ENVIRONMENT)
    assert (copy.templates, copy.rules, copy.digest) == (snapshot.templates, snapshot.rules, snapshot.digest)


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o702])
def test_a_directory_of_others_is_refused(last_good, files, snapshot, mode):
    """A directory that other users can write to is neither read nor written: whoever plants a copy decides who may pass."""
    last_good.directory.chmod(mode)
    with pytest.raises(NoLastGood, match="other users can write to it"):
        last_good.read(files.configuration, ENVIRONMENT)
    last_good = LastGood(last_good.directory)
    last_good.keep(snapshot)
    assert last_good.trouble == f"`{last_good.directory}` cannot be written: other users can write to it"


def test_no_link_is_followed(files, snapshot, tmp_path):
    """A link in place of the copy is not read, and one in place of the new copy is not written through."""
    last_good, other = LastGood(tmp_path / "kept"), tmp_path / "other"
    other.write_text("kept")
    last_good.directory.mkdir(mode=0o700)
    (last_good.directory / f"{COPY}.new").symlink_to(other)
    last_good.keep(snapshot)
    assert (last_good.trouble, other.read_text()) == ("", "kept")
    (last_good.directory / COPY).rename(tmp_path / "copy")
    (last_good.directory / COPY).symlink_to(tmp_path / "copy")
    with pytest.raises(NoLastGood, match="symbolic links"):
        last_good.read(files.configuration, ENVIRONMENT)


def test_the_directory_may_be_a_link(files, snapshot, tmp_path):
    """A link to a directory is followed: systemd makes its state directories so."""
    (tmp_path / "private").mkdir(mode=0o755)
    (tmp_path / "kept").symlink_to(tmp_path / "private")
    last_good = LastGood(tmp_path / "kept")
    last_good.keep(snapshot)
    assert last_good.read(files.configuration, ENVIRONMENT).digest == snapshot.digest
