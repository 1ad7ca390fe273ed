"""Following edits: poked, settled, looked at now and then, and never stopped by a defect."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tornado_proxy.service.follow import Follower, Pace
from tornado_proxy.service.watch import Watch

NEVER = Pace(quiet=0.001, patience=0.01, look=3600.0, look_unwatched=3600.0)
SOON = Pace(quiet=0.001, patience=0.01, look=3600.0, look_unwatched=0.001)


class _Blind(Watch):
    """A watch that the kernel tells nothing, for the reason that it is given."""

    def __init__(self, poke, trouble: str = "") -> None:
        super().__init__(poke)
        self.trouble = trouble

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


def test_a_poke_has_the_edit_loaded():
    """After the quiet that follows it."""

    async def story():
        reload = _Counted()
        follower = Follower(_places, reload, NEVER, _Blind)

        async def poked():
            await reload.reached(1)
            follower.poke()
            await reload.reached(2)

        await _followed(follower, poked())

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
    assert any("met a defect" in record.getMessage() for record in caplog.records)


def test_a_poke_after_the_end_is_no_error():
    """Watchdog's thread may be the last to know."""

    async def story():
        return Follower(_places, _Counted(), NEVER, _Blind)

    asyncio.run(story()).poke()
