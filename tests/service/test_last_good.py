"""The copy of the last good snapshot; how a service starts from it stands in tests/end_to_end."""

from __future__ import annotations

import asyncio

import pytest
from files import ENVIRONMENT, Files

from tornado_proxy.service.last_good import COPY, LastGood, NoLastGood, keep_each
from tornado_proxy.service.snapshot import read_snapshot


@pytest.fixture
def files(tmp_path):
    """A set with one rewrite."""
    (tmp_path / "set").mkdir()
    return Files.create(tmp_path / "set", site='rewrite a `^/a$` -> "/b"')


@pytest.fixture
def snapshot(files):
    """The set as it was read."""
    return read_snapshot(files.configuration, ENVIRONMENT)


def test_what_was_kept_is_what_was_read(files, snapshot, tmp_path):
    """Configuration and rules come back under their own names."""
    kept = LastGood(tmp_path / "kept")
    kept.keep(snapshot)
    again = LastGood(tmp_path / "kept").read(files.configuration, ENVIRONMENT)
    assert (kept.trouble, again.digest, again.rules) == ("", snapshot.digest, snapshot.rules)


def test_a_set_takes_the_place_of_the_one_before(files, snapshot, tmp_path):
    """One file is kept, and no other."""
    kept = LastGood(tmp_path / "kept")
    kept.keep(snapshot)
    files.write('rewrite a `^/a$` -> "/c"')
    later = read_snapshot(files.configuration, ENVIRONMENT)
    kept.keep(later)
    assert kept.read(files.configuration, ENVIRONMENT).rules == later.rules
    assert [each.name for each in (tmp_path / "kept").iterdir()] == ["snapshot.json"]


def test_another_configuration_has_no_copy_there(files, snapshot, tmp_path):
    """A copy belongs to one configuration file."""
    kept = LastGood(tmp_path / "kept")
    kept.keep(snapshot)
    with pytest.raises(NoLastGood, match="has the copy of"):
        kept.read(tmp_path / "other.yaml", ENVIRONMENT)


@pytest.mark.parametrize(
    "copy",
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
def test_a_damaged_copy_is_none(files, snapshot, tmp_path, copy):
    """Whatever stands there, the error names the place."""
    kept = LastGood(tmp_path / "kept")
    kept.keep(snapshot)
    (tmp_path / "kept" / "snapshot.json").write_bytes(copy)
    with pytest.raises(NoLastGood, match="has no copy"):
        kept.read(files.configuration, ENVIRONMENT)


def test_only_the_owner_may_read_a_copy(snapshot, tmp_path):
    """A configuration may hold secrets."""
    LastGood(tmp_path / "kept").keep(snapshot)
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "kept", tmp_path / "kept" / "snapshot.json")]
    assert modes == [0o700, 0o600]


def test_bytes_that_are_not_text_come_back(files, tmp_path):
    """A rule file with a mistake of encoding in a comment is kept as it is."""
    (files.folder / "rules" / "site.rules").write_bytes(b'rewrite `^/a` -> "/b" # \xff')
    snapshot = read_snapshot(files.configuration, ENVIRONMENT)
    kept = LastGood(tmp_path / "kept")
    kept.keep(snapshot)
    assert kept.read(files.configuration, ENVIRONMENT).rules == snapshot.rules


def test_the_copy_of_another_configuration_is_left_alone(files, snapshot, tmp_path):
    """Two services would overwrite each other's copies."""
    LastGood(tmp_path / "kept").keep(snapshot)
    other = files.folder / "other.yaml"
    other.write_bytes(files.configuration.read_bytes())
    kept = LastGood(tmp_path / "kept")
    kept.keep(read_snapshot(other, ENVIRONMENT))
    assert kept.trouble == (
        f"`{tmp_path}/kept` has the copy of `{files.configuration}`; each configuration needs a directory of its own"
    )
    assert kept.read(files.configuration, ENVIRONMENT).digest == snapshot.digest


class _Filled(LastGood):
    """A directory whose path is a file at first."""

    def __init__(self, directory, loop):
        super().__init__(directory)
        directory.touch()
        self.kept = asyncio.Event()
        self._loop = loop

    def keep(self, snapshot):
        """Keep it if there is room; make room if there is none."""
        super().keep(snapshot)
        if self.trouble:
            self.directory.unlink()
        else:
            self._loop.call_soon_threadsafe(self.kept.set)


def test_a_set_that_could_not_be_kept_is_tried_again(snapshot, tmp_path, caplog):
    """A failure is logged once, and the snapshot is kept as soon as that is possible."""
    caplog.set_level("INFO", "tornado_proxy")

    async def story():
        loop = asyncio.get_running_loop()
        kept = _Filled(tmp_path / "kept", loop)
        keeping = loop.create_task(keep_each(kept, lambda: snapshot, asyncio.Event(), retry=0.001))
        await kept.kept.wait()
        keeping.cancel()
        await asyncio.wait([keeping])

    asyncio.run(asyncio.wait_for(story(), 10))
    messages = [record.getMessage() for record in caplog.records]
    trouble = f"the last good snapshot is not kept: `{tmp_path / 'kept'}` cannot keep it: File exists"
    assert messages[0] == trouble
    assert messages[1:] in ([], ["the last good snapshot is kept again"])


def test_a_set_that_comes_while_another_is_written_is_kept_too(snapshot, tmp_path):
    """An edit may follow while a slow disk takes the one before."""

    async def story():
        loop, changed, again, kept = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event(), []

        class Slow(LastGood):
            """A directory; an edit arrives while it keeps the first snapshot."""

            def keep(self, snapshot):
                kept.append(snapshot)
                loop.call_soon_threadsafe((changed if len(kept) == 1 else again).set)

        keeping = loop.create_task(keep_each(Slow(tmp_path), lambda: snapshot, changed))
        await again.wait()
        keeping.cancel()
        await asyncio.wait([keeping])

    asyncio.run(asyncio.wait_for(story(), 10))


def test_a_copy_that_was_left_half_written_is_replaced(files, snapshot, tmp_path):
    """A longer one beside it, from a process that was killed, leaves nothing in the next."""
    kept = LastGood(tmp_path / "kept")
    kept.keep(snapshot)
    copy = tmp_path / "kept" / COPY
    (tmp_path / "kept" / f"{COPY}.new").write_bytes(copy.read_bytes() * 2)
    files.write('rewrite `^/b$` -> "/c"')
    kept.keep(read_snapshot(files.configuration, ENVIRONMENT))
    assert kept.read(files.configuration, ENVIRONMENT).digest == files.read().digest


def test_templates_are_kept_too(files, tmp_path):
    """They come back under their own names."""
    files.configure(files.configuration.read_text() + "templates: {put: {path: p.tpl}}\n")
    (files.folder / "p.tpl").write_text("stored")
    snapshot = read_snapshot(files.configuration, ENVIRONMENT)
    kept = LastGood(tmp_path / "kept")
    kept.keep(snapshot)
    (files.folder / "p.tpl").unlink()
    again = kept.read(files.configuration, ENVIRONMENT)
    assert (again.templates, again.rules, again.digest) == (snapshot.templates, snapshot.rules, snapshot.digest)
