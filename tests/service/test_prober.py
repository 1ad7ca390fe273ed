"""The prober probes buckets in intervals and reports changes."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from tornado_proxy.service.process import Prober
from tornado_proxy.storage.probe import BucketProblem, ProbeResult

UP = ProbeResult("site", "b", 1.0, 0.1, ("s3:ListBucket",))
DOWN = ProbeResult("site", "b", 2.0, 0.1, (), BucketProblem("no-bucket", "there is no bucket `b`", "create it"))
SOON = 0.001  # seconds


@dataclass
class _ScriptedProbes:
    """Probes with the given results in turn, after which a probe never ends."""

    results: list[ProbeResult]
    done: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self):
        """The next result."""
        if not self.results:
            self.done.set()
            await asyncio.Event().wait()
        return [self.results.pop(0)]


@asynccontextmanager
async def _running(prober: Prober):
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(prober.run())
        yield
        running.cancel()


async def _run(*results: ProbeResult):
    events, probes = [], _ScriptedProbes(list(results))
    prober = Prober(probes, SOON, events.append)
    async with _running(prober):
        await probes.done.wait()
    return prober, events


async def test_the_last_result_is_kept():
    prober, _ = await _run(UP, DOWN)
    assert [*prober.results.values()] == [DOWN]


async def test_a_reload_waits_for_the_probe_of_what_is_in_force():
    """Results from before an edit do not count, and neither does a probe that it has overtaken; one that hangs ends."""
    gate = asyncio.Event()

    async def probe():
        await gate.wait()
        return [UP]

    prober = Prober(probe, 3600.0, [].append)
    async with asyncio.timeout(20), _running(prober):
        await prober.settled(SOON)
        assert prober.results == {}
        prober.poke()
        waiting = asyncio.ensure_future(prober.settled(10))
        await asyncio.sleep(0)
        assert not waiting.done()
        gate.set()
        await waiting
        assert [*prober.results.values()] == [UP]
        prober.poke()
        await prober.settled(10)
    await Prober(probe, 0, [].append).settled(10)


@pytest.mark.parametrize(
    ("results", "expected"),
    [((UP, UP), [False, False]), ((DOWN, DOWN), [True, False]), ((UP, DOWN, UP), [False, True, True])],
)
async def test_only_a_change_is_news(results, expected):
    """A bucket that stays down is news once, and one that always works never is."""
    _, events = await _run(*results)
    assert [event.is_news for event in events] == expected


async def test_without_an_interval_nothing_is_probed():
    """An interval of 0 disables probes, and readiness does not need them."""
    prober = Prober(_ScriptedProbes([UP]), 0, print)
    await prober.run()
    assert prober.results == {}
    assert prober.finds_bucket


async def test_a_bucket_is_found_by_a_successful_probe():
    assert not Prober(_ScriptedProbes([]), 60, print).finds_bucket
    assert (await _run(UP))[0].finds_bucket
    assert not (await _run(UP, DOWN))[0].finds_bucket


async def test_new_buckets_are_probed_at_once():
    """After a reload, the next probe does not wait for the interval."""
    events = asyncio.Queue()
    prober = Prober(_ScriptedProbes([UP, DOWN]), 60, events.put_nowait)
    async with _running(prober):
        assert (await events.get()).result == UP
        prober.poke()
        assert (await events.get()).result == DOWN


async def test_a_probe_during_a_reload_is_dropped():
    """The result of a probe that started before a reload is dropped, and another probe follows at once."""
    events, results = asyncio.Queue(), [DOWN, UP]

    async def probe():
        if len(results) == 2:
            prober.poke()
        return [results.pop(0)]

    prober = Prober(probe, 60, events.put_nowait)
    async with _running(prober):
        assert (await events.get()).result == UP
