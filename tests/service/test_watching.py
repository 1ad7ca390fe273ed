"""Edits are noticed in every way of saving files."""

import asyncio
import subprocess
import threading
from pathlib import Path
from time import sleep

import pytest
from descriptors import no_descriptor_left

from tornado_proxy.service.watching import Follower, Pace, Watch

TIMEOUT = 5  # seconds; an event takes milliseconds


@pytest.fixture
def rules(tmp_path):
    """A directory with a rule file and a subdirectory with another one."""
    folder = tmp_path / "rules"
    (folder / "below").mkdir(parents=True)
    (folder / "site.rules").write_text("target site {}\n")
    (folder / "below" / "more.rules").write_text("target more {}\n")
    return folder


@pytest.fixture
def poked():
    """An event that the watch sets when it pokes."""
    return threading.Event()


@pytest.fixture
def new_watch(poked):
    """A watch that has not looked at anything."""
    watch = Watch(poked.set)
    yield watch
    watch.close()


@pytest.fixture
def watch(rules, new_watch):
    """A watch of the directory."""
    new_watch.look_at([rules])
    assert new_watch.trouble == ""
    return new_watch


def _write_in_place(rules):
    (rules / "site.rules").write_text("target site { }\n")


def _run(command, folder):
    """Runs a command of the shell in a folder."""
    subprocess.run(command, shell=True, cwd=folder, check=True)


@pytest.mark.parametrize(
    "command",
    [
        "echo 'target site { }' > site.rules",
        "echo 'target site { }' > .site.rules.swp && mv .site.rules.swp site.rules",
        "echo 'target new {}' > new.rules",
        "echo '<p>' > listing.html",
        "rm site.rules",
        "echo 'target more { }' > below/more.rules",
        "mkdir ../prepared && echo 'target x {}' > ../prepared/x.rules && mv ../prepared .",
        "mkdir ../elsewhere && ln -s ../elsewhere linked",
        "mv ../rules ../old",
    ],
)
def test_a_change_is_noticed(watch, rules, poked, command):
    _run(command, rules)
    assert poked.wait(TIMEOUT)


@pytest.fixture
def config_map(tmp_path):
    """A directory as Kubernetes mounts a ConfigMap: files are links through `..data` into a versioned directory."""
    folder = tmp_path / "mounted"
    (folder / "..2026_01").mkdir(parents=True)
    (folder / "..2026_01" / "site.rules").write_text("target site {}\n")
    (folder / "..data").symlink_to("..2026_01")
    (folder / "site.rules").symlink_to("..data/site.rules")
    return folder


def test_a_new_config_map_is_noticed(new_watch, config_map, poked):
    new_watch.look_at([config_map / "site.rules"])
    (config_map / "..2026_02").mkdir()
    (config_map / "..2026_02" / "site.rules").write_text("target site { }\n")
    poked.clear()
    (config_map / "..data_tmp").symlink_to("..2026_02")
    (config_map / "..data_tmp").rename(config_map / "..data")
    assert poked.wait(TIMEOUT)


def test_a_file_behind_a_link_is_watched(new_watch, rules, poked):
    """A link leads out of the directory; the file is one of those that were read, whatever its name."""
    elsewhere = rules.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "shared").write_text("target shared {}\n")
    (rules / "shared.rules").symlink_to(elsewhere / "shared")
    new_watch.look_at([rules, rules / "site.rules", rules / "shared.rules"])
    assert {path for path, _ in new_watch._armed} == {rules.parent, elsewhere, rules}
    (elsewhere / "shared").write_text("target shared { }\n")
    assert poked.wait(TIMEOUT)


@pytest.mark.parametrize(
    "command",
    [
        "echo 'a line' >> app.log",
        "echo 'a line' > ../app.log",
        "echo 'a line' > app.log && mv app.log app.log.1 && rm app.log.1",
        "echo 'target site { }' > .site.rules.swp",
        "cat site.rules",
    ],
)
def test_other_files_are_ignored(new_watch, rules, poked, command):
    """The watch does not poke for logs, temporary files, or the reading of rule files."""
    new_watch.look_at([rules, rules.parent / "proxy.yaml"])
    _run(command, rules)
    assert not poked.wait(0.2)
    # Events arrive in order, so this poke shows that the ones above were processed.
    _write_in_place(rules)
    assert poked.wait(TIMEOUT)


def test_an_open_log_makes_no_events(rules):
    """Lines of a log that stays open cause no events in watchdog or the process."""
    events = []

    class Counting(Watch):
        def dispatch(self, event):
            events.append(event)

    watch = Counting(lambda: None)
    with (rules / "app.log").open("a") as log:
        watch.look_at([rules])
        for number in range(100):
            log.write(f"line {number}\n")
            log.flush()
        sleep(0.2)
        assert events == []
    watch.close()


def test_a_replaced_directory_is_watched(watch, rules, poked):
    """A new directory of the same name is watched after the next look."""
    rules.rename(rules.with_name("old"))
    rules.mkdir()
    watch.look_at([rules])
    while poked.wait(0.2):  # of the directory itself, unless the look came first
        poked.clear()
    (rules / "site.rules").write_text("target site {}\n")
    assert poked.wait(TIMEOUT)


def test_a_missing_directory_is_watched(new_watch, tmp_path, poked):
    """If a path does not exist, its nearest existing parent is watched."""
    new_watch.look_at([tmp_path / "later" / "rules"])
    (tmp_path / "later").mkdir()
    assert poked.wait(TIMEOUT)


def test_an_unused_watch_can_be_closed(poked):
    Watch(poked.set).close()


def test_a_lack_of_descriptors_is_reported(new_watch, rules, poked):
    with no_descriptor_left():
        new_watch.look_at([rules])
        assert new_watch.trouble
    new_watch.look_at([rules])
    assert new_watch.trouble == ""
    _write_in_place(rules)
    assert poked.wait(TIMEOUT)


def test_an_invalid_path_is_reported(new_watch, tmp_path):
    new_watch.look_at([tmp_path / ("a" * 300)])
    assert new_watch.trouble == "File name too long"


class _VanishingPath(type(Path())):
    """A directory that is renamed once, as soon as it was found."""

    was_found = False

    def is_dir(self) -> bool:
        """Whether the directory exists; the first call renames it."""
        if not (exists := super().is_dir()) or _VanishingPath.was_found:
            return exists
        _VanishingPath.was_found = True
        Path(self).rename(self.with_name("old"))
        return True

    def absolute(self) -> Path:
        """The path, which is absolute already."""
        return self


def test_a_directory_that_vanishes_is_watched_again(new_watch, rules, poked):
    """If a directory vanishes during a look, its parent is watched and its return is noticed."""
    new_watch.look_at([_VanishingPath(rules)])
    assert (_VanishingPath.was_found, new_watch.trouble) == (True, "")
    (rules.with_name("old")).rename(rules)
    assert poked.wait(TIMEOUT)


WITHOUT_POLLING = Pace(quiet=0.001, patience=0.01, look=3600.0, look_unwatched=3600.0)
POLLING = Pace(quiet=0.001, patience=0.01, look=3600.0, look_unwatched=0.001)


class _BlindWatch(Watch):
    """A watch that never notices a change, and has the given trouble."""

    def __init__(self, poke, trouble: str = "") -> None:
        super().__init__(poke)
        self.trouble = trouble
        self.is_closed = False

    def close(self) -> None:
        """Record the closing."""
        self.is_closed = True

    def look_at(self, places) -> None:
        """Do nothing."""


class _CountingReload:
    """A reload that counts its calls."""

    def __init__(self) -> None:
        self.count = 0
        self._changed = asyncio.Condition()

    async def __call__(self) -> None:
        async with self._changed:
            self.count += 1
            self._changed.notify_all()

    async def reached(self, count: int) -> None:
        """Wait until the number of calls is at least `count`."""
        async with self._changed:
            await asyncio.wait_for(self._changed.wait_for(lambda: self.count >= count), 10)


def _places() -> tuple[Path, ...]:
    return ()


async def _run_follower(follower, waiting) -> None:
    """Run a follower until an awaitable ends."""
    task = asyncio.get_running_loop().create_task(follower.run())
    try:
        await waiting
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_follower_closes_its_watch():
    reload, watches = _CountingReload(), []

    def watch(poke):
        watches.append(_BlindWatch(poke))
        return watches[0]

    await _run_follower(Follower(_places, reload, WITHOUT_POLLING, watch), reload.reached(1))
    assert watches[0].is_closed


async def _poke_once(follower, reload):
    """Wait for the first reload, poke, and wait for the second."""
    await reload.reached(1)
    follower.poke()
    await reload.reached(2)


async def test_a_poke_causes_one_reload():
    reload = _CountingReload()
    follower = Follower(_places, reload, WITHOUT_POLLING, _BlindWatch)

    async def wait():
        await _poke_once(follower, reload)
        await asyncio.sleep(0.1)

    await _run_follower(follower, wait())
    assert reload.count == 2


async def test_continuous_changes_are_loaded():
    """If changes never pause, a reload follows after the maximum delay."""
    reload = _CountingReload()
    follower = Follower(_places, reload, Pace(quiet=10.0, patience=0.01, look=3600.0), _BlindWatch)

    async def write():
        while True:
            follower.poke()
            await asyncio.sleep(0.001)

    writing = asyncio.get_running_loop().create_task(write())
    await _run_follower(follower, reload.reached(2))
    writing.cancel()


async def test_a_real_edit_causes_a_reload(tmp_path):
    reload = _CountingReload()

    async def edit():
        await reload.reached(1)
        (tmp_path / "site.rules").write_text("target site {}")
        await reload.reached(2)

    await _run_follower(Follower(lambda: (tmp_path,), reload, WITHOUT_POLLING), edit())


async def test_without_notifications_files_are_polled(caplog):
    """If the kernel does not notify, files are read often, and the reason is logged once."""
    reload = _CountingReload()
    follower = Follower(_places, reload, POLLING, lambda poke: _BlindWatch(poke, "no watches left"))
    await _run_follower(follower, reload.reached(4))
    assert [record.getMessage().count("no watches left") for record in caplog.records] == [1]


async def test_a_watch_that_fails_does_not_keep_files_from_being_read():
    """The files are read once more before the follower ends with the defect, to be begun again."""

    class Failing(_BlindWatch):
        """A watch with a defect."""

        def look_at(self, places):
            """Raise it."""
            raise ValueError("a defect")

    reload = _CountingReload()
    with pytest.raises(ValueError, match="a defect"):
        await Follower(_places, reload, POLLING, Failing).run()
    assert reload.count == 1


def test_a_poke_after_the_end_is_ignored():
    """A poke of watchdog's thread after the end of the event loop is not an error."""

    async def scenario():
        return Follower(_places, _CountingReload(), WITHOUT_POLLING, _BlindWatch)

    asyncio.run(scenario()).poke()
