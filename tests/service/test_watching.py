"""Edits are noticed, however they are saved."""

from __future__ import annotations

import asyncio
import resource
import threading
from pathlib import Path
from time import sleep

import pytest
from watchdog.events import FileClosedNoWriteEvent, FileOpenedEvent

from tornado_proxy.service.watching import Follower, Pace, Watch

WITHIN = 5  # seconds; an event takes milliseconds


@pytest.fixture
def rules(tmp_path):
    """A directory of rules with one file, and one below it."""
    folder = tmp_path / "rules"
    (folder / "below").mkdir(parents=True)
    (folder / "site.rules").write_text("target site {}\n")
    (folder / "below" / "more.rules").write_text("target more {}\n")
    return folder


@pytest.fixture
def poked():
    """Set whenever the watch pokes."""
    return threading.Event()


@pytest.fixture
def watch(rules, poked):
    """A watch that looks at the directory."""
    made = Watch(poked.set)
    made.look_at([rules])
    assert made.trouble == ""
    yield made
    made.close()


def _write_in_place(rules):
    (rules / "site.rules").write_text("target site { }\n")


def _save_by_rename(rules):
    (rules / ".site.rules.swp").write_text("target site { }\n")
    (rules / ".site.rules.swp").rename(rules / "site.rules")


def _new_file(rules):
    (rules / "new.rules").write_text("target new {}\n")


def _delete(rules):
    (rules / "site.rules").unlink()


def _write_below(rules):
    (rules / "below" / "more.rules").write_text("target more { }\n")


def _rename_directory_in(rules):
    (rules.parent / "prepared").mkdir()
    (rules.parent / "prepared" / "x.rules").write_text("target x {}\n")
    (rules.parent / "prepared").rename(rules / "prepared")


def _link_a_directory(rules):
    (rules.parent / "elsewhere").mkdir()
    (rules / "linked").symlink_to(rules.parent / "elsewhere")


def _replace_the_directory(rules):
    rules.rename(rules.with_name("old"))


@pytest.mark.parametrize(
    "change",
    [
        _write_in_place, _save_by_rename, _new_file, _delete, _write_below, _rename_directory_in,
        _replace_the_directory, _link_a_directory,
    ],
)  # fmt: skip
def test_a_change_pokes(watch, rules, poked, change):
    """However a file is saved, the watch pokes."""
    change(rules)
    assert poked.wait(WITHIN)


@pytest.fixture
def config_map(tmp_path):
    """A directory as Kubernetes mounts a ConfigMap: links through `..data` into a dated directory."""
    folder = tmp_path / "mounted"
    (folder / "..2026_01").mkdir(parents=True)
    (folder / "..2026_01" / "site.rules").write_text("target site {}\n")
    (folder / "..data").symlink_to("..2026_01")
    (folder / "site.rules").symlink_to("..data/site.rules")
    return folder


def test_a_config_map_swap_pokes(config_map, poked):
    """`..data` is moved, and the rule file's own name never appears: the watch pokes all the same."""
    watch = Watch(poked.set)
    watch.look_at([config_map / "site.rules"])
    (config_map / "..2026_02").mkdir()
    (config_map / "..2026_02" / "site.rules").write_text("target site { }\n")
    poked.clear()
    (config_map / "..data_tmp").symlink_to("..2026_02")
    (config_map / "..data_tmp").rename(config_map / "..data")
    assert poked.wait(WITHIN)
    watch.close()


def _log_a_line(rules):
    with (rules / "app.log").open("a") as log:
        log.write("a line\n")


def _log_beside(rules):
    (rules.parent / "app.log").write_text("a line\n")


def _rotate_the_log(rules):
    (rules / "app.log").write_text("a line\n")
    (rules / "app.log").rename(rules / "app.log.1")
    (rules / "app.log.1").unlink()


def _begin_to_save(rules):
    (rules / ".site.rules.swp").write_text("target site { }\n")


def _read(rules):
    (rules / "site.rules").read_text()


@pytest.mark.parametrize("change", [_log_a_line, _log_beside, _rotate_the_log, _begin_to_save, _read])
def test_what_is_not_read_does_not_poke(rules, poked, change):
    """A log beside the files does not poke, nor does reading."""
    watch = Watch(poked.set)
    watch.look_at([rules, rules.parent / "proxy.yaml"])
    change(rules)
    assert not poked.wait(0.2)
    # Events come in order: what follows is noticed.
    _write_in_place(rules)
    assert poked.wait(WITHIN)
    watch.close()


def test_a_log_that_is_held_open_makes_no_events(rules):
    """Its lines reach neither watchdog's threads nor the process."""
    seen = []

    class Counting(Watch):
        def dispatch(self, event):
            seen.append(event)

    watch = Counting(lambda: None)
    with (rules / "app.log").open("a") as log:
        watch.look_at([rules])
        for number in range(100):
            log.write(f"line {number}\n")
            log.flush()
        sleep(0.2)
        assert seen == []
    watch.close()


@pytest.mark.parametrize("event", [FileOpenedEvent("/x"), FileClosedNoWriteEvent("/x")])
def test_reading_does_not_poke(poked, event):
    """A reload reads all files; that must not cause the next reload."""
    Watch(poked.set).on_any_event(event)
    assert not poked.is_set()


def test_a_directory_put_back_is_watched_again(watch, rules, poked):
    """A directory replaced by another of the same name is watched once the watch has looked again."""
    rules.rename(rules.with_name("old"))
    rules.mkdir()
    watch.look_at([rules])
    assert poked.wait(WITHIN)
    poked.clear()
    (rules / "site.rules").write_text("target site {}\n")
    assert poked.wait(WITHIN)


def test_a_place_that_does_not_exist_yet_is_noticed_when_it_comes(tmp_path, poked):
    """The nearest directory that exists is watched for a place that does not."""
    watch = Watch(poked.set)
    watch.look_at([tmp_path / "later" / "rules"])
    (tmp_path / "later").mkdir()
    assert poked.wait(WITHIN)
    watch.close()


def test_a_watch_that_never_looked_can_be_closed(poked):
    """Closing before the first look is not an error."""
    Watch(poked.set).close()


def test_a_kernel_that_has_no_more_is_trouble_and_no_defect(rules, poked):
    """Without a descriptor nothing is watched; with one, the next look watches."""
    watch, (soft, hard) = Watch(poked.set), resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        watch.look_at([rules])
        assert watch.trouble
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    watch.look_at([rules])
    assert watch.trouble == ""
    _write_in_place(rules)
    assert poked.wait(WITHIN)
    watch.close()


def test_a_place_that_cannot_be_looked_at_is_trouble_and_no_defect(tmp_path, poked):
    """The trouble is the system's message, here about a name that is too long."""
    watch = Watch(poked.set)
    watch.look_at([tmp_path / ("a" * 300)])
    assert watch.trouble == "File name too long"
    watch.close()


class _Vanishing(type(Path())):
    """A directory that goes away as soon as it has been found, once."""

    found = False

    def is_dir(self) -> bool:
        """Whether it is there; it is gone after that."""
        if not (is_there := super().is_dir()) or _Vanishing.found:
            return is_there
        _Vanishing.found = True
        Path(self).rename(self.with_name("old"))
        return True

    def absolute(self) -> Path:
        """The path, which is absolute."""
        return self


def test_a_directory_that_vanishes_under_the_look_is_no_trouble(rules, poked):
    """The next look watches its parent, which notices when it comes back."""
    watch = Watch(poked.set)
    watch.look_at([_Vanishing(rules)])
    assert (_Vanishing.found, watch.trouble) == (True, "")
    (rules.with_name("old")).rename(rules)
    assert poked.wait(WITHIN)
    watch.close()


NEVER = Pace(quiet=0.001, patience=0.01, look=3600.0, look_unwatched=3600.0)
SOON = Pace(quiet=0.001, patience=0.01, look=3600.0, look_unwatched=0.001)


class _Blind(Watch):
    """A watch that the kernel tells nothing, for the reason that it is given."""

    def __init__(self, poke, trouble: str = "") -> None:
        super().__init__(poke)
        self.trouble = trouble
        self.is_closed = False

    def close(self) -> None:
        """Notes it."""
        self.is_closed = True

    def look_at(self, places) -> None:
        """Look at nothing."""


class _Counted:
    """A reload that counts, and fails the first time if it is told to."""

    def __init__(self, *, fails_first: bool = False) -> None:
        self.count = 0
        self._fails_first = fails_first
        self._changed = asyncio.Condition()

    async def __call__(self) -> None:
        async with self._changed:
            self.count += 1
            self._changed.notify_all()
        if self._fails_first and self.count == 1:
            raise ValueError("a defect")

    async def reached(self, count: int) -> None:
        """Wait for so many reloads."""
        async with self._changed:
            await asyncio.wait_for(self._changed.wait_for(lambda: self.count >= count), 10)


def _places() -> tuple[Path, ...]:
    return ()


def _story(story):
    asyncio.run(story())


async def _followed(follower, during) -> None:
    task = asyncio.get_running_loop().create_task(follower.run())
    try:
        await during
    finally:
        task.cancel()
        await asyncio.wait([task])


def test_the_set_is_read_once_at_the_start():
    """What changed between the first load and the watch is not missed."""

    async def story():
        reload = _Counted()
        await _followed(Follower(_places, reload, NEVER, _Blind), reload.reached(1))

    _story(story)


def test_nothing_is_watched_after_the_end():
    """The threads of the watch end with it."""

    async def story():
        reload, watches = _Counted(), []

        def watch(poke):
            watches.append(_Blind(poke))
            return watches[0]

        await _followed(Follower(_places, reload, NEVER, watch), reload.reached(1))
        assert watches[0].is_closed

    _story(story)


async def _poked(follower, reload):
    """Wait for the first reload, and poke for the second."""
    await reload.reached(1)
    follower.poke()
    await reload.reached(2)


def test_a_poke_has_the_edit_loaded():
    """After the quiet that follows it."""

    async def story():
        reload = _Counted()
        follower = Follower(_places, reload, NEVER, _Blind)

        await _followed(follower, _poked(follower, reload))

    _story(story)


def test_an_edit_is_loaded_once():
    """The next reload waits for the next change."""

    async def story():
        reload = _Counted()
        follower = Follower(_places, reload, NEVER, _Blind)

        async def waited():
            await _poked(follower, reload)
            await asyncio.sleep(0.1)

        await _followed(follower, waited())
        assert reload.count == 2

    _story(story)


def test_changes_that_never_pause_are_loaded_too():
    """Another program may write beside the rules all the time."""

    async def story():
        reload = _Counted()
        follower = Follower(_places, reload, Pace(quiet=10.0, patience=0.01, look=3600.0), _Blind)

        async def write():
            while True:
                follower.poke()
                await asyncio.sleep(0.001)

        writing = asyncio.get_running_loop().create_task(write())
        await _followed(follower, reload.reached(2))
        writing.cancel()

    _story(story)


def test_a_real_edit_is_followed(tmp_path):
    """With the kernel's notifications, from a file to a reload."""

    async def story():
        reload = _Counted()

        async def edited():
            await reload.reached(1)
            (tmp_path / "site.rules").write_text("target site {}")
            await reload.reached(2)

        await _followed(Follower(lambda: (tmp_path,), reload, NEVER), edited())

    _story(story)


def test_without_notifications_it_looks_for_itself(caplog):
    """Where the kernel does not notify, looks come often, and the reason is said once."""

    async def story():
        reload = _Counted()
        follower = Follower(_places, reload, SOON, lambda poke: _Blind(poke, "no watches left"))
        await _followed(follower, reload.reached(4))

    _story(story)
    assert [record.getMessage().count("no watches left") for record in caplog.records] == [1]


def test_a_defect_does_not_end_it(caplog):
    """A reload that raises is logged, and the next one is made."""

    async def story():
        reload = _Counted(fails_first=True)
        await _followed(Follower(_places, reload, SOON, lambda poke: _Blind(poke, "x")), reload.reached(2))

    _story(story)
    assert any("failed" in record.getMessage() for record in caplog.records)


def test_a_poke_after_the_end_is_no_error():
    """Watchdog's thread may outlive the event loop."""

    async def story():
        return Follower(_places, _Counted(), NEVER, _Blind)

    asyncio.run(story()).poke()
