"""A defect in any step of an edit, a look, a copy or a probe: the service lives, says so, and takes the next edit."""

import asyncio
import json
import os
import signal
from collections.abc import Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest
from files import CONFIGURATION, Files
from in_force import RecordingServing
from tornado.httpclient import AsyncHTTPClient

from tornado_proxy.admin.administration import Administration
from tornado_proxy.admin.application import admin_listener
from tornado_proxy.config.server import Listener
from tornado_proxy.service import process, reloading, runtime, watching
from tornado_proxy.service.last_good import LastGood
from tornado_proxy.service.process import Launch, Notifier, Process, open_sockets

STEPS: dict[str, tuple[object, str]] = {
    **{
        name: (reloading, name)
        for name in ("compile_snapshot", "tolerant_of_dates", "run_rule_tests", "probed", "fixed_at_start", "changes")
    },
    "the steps of an edit": (reloading.EditState, "step"),
    "what is new of a refusal": (reloading, "_news"),
    "activating": (RecordingServing, "activate"),
    "reading": (Files, "read"),
    "renewing": (reloading.Reloader, "_renewed"),
    "a reload": (reloading.Reloader, "reload"),
    "the status line": (reloading.Reloader, "status_line"),
    "a look": (watching.Watch, "look_at"),
    "keeping": (LastGood, "keep"),
    "a probe": (process, "probe_stores"),
    "a sample": (Administration, "sample"),
    "telling the service manager of SIGHUP": (Notifier, "tell", "RELOADING=1"),
    "telling the service manager of an edit": (Notifier, "tell", "status"),
    "feeding the watchdog": (Notifier, "tell", "WATCHDOG=1"),
}
REFUSED = ("what is new of a refusal", "renewing")  # steps of an edit with a mistake
GOOD = 'rewrite `^/a$` -> "/b"\ntest "/a" -> "/b"'


@asynccontextmanager
async def _running(files: Files, kept, read: Callable | None = None):
    """Runs a process with all its tasks; yields it, and a function that asks its admin listener."""
    started: asyncio.Queue[str] = asyncio.Queue()
    sockets, admin = (open_sockets(Listener("127.0.0.1", 0)) for _ in range(2))
    launch = Launch(
        sockets,
        read or (lambda: files.read()),  # noqa: PLW0108 - looked up at each call
        partial(admin_listener, sockets=admin.sockets),
        lambda: started.put_nowait(admin.url),
        last_good=LastGood(kept),
    )
    client = AsyncHTTPClient(force_instance=True)
    service = Process(launch, RecordingServing(files.load()))
    running = asyncio.get_running_loop().create_task(service.run())
    try:
        url = await started.get()

        async def ask(method, path):
            body = "" if method == "POST" else None
            return await client.fetch(f"{url}{path}", method=method, body=body, raise_error=False)

        yield service, ask
    finally:
        assert not running.done()
        signal.raise_signal(signal.SIGTERM)
        await running
        client.close()
        for each in sockets.sockets:
            each.close()


async def _eventually(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - of many things, each told in its own way
            await asyncio.sleep(0.01)


async def _no_probe(_generation):
    return []


@pytest.mark.parametrize("step", STEPS)
async def test_a_defect_in_any_step_leaves_the_service_alive(step, tmp_path, monkeypatch, caplog):
    """It answers while the step fails, and the edit is in force once it does not."""
    monkeypatch.setattr(runtime.limits, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(process, "probe_stores", _no_probe)
    monkeypatch.setenv("WATCHDOG_USEC", "100000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    files = Files.create(tmp_path, site=GOOD)
    files.configure(f"{CONFIGURATION}s3: {{probeInterval: 1}}\nreload: {{probe: off}}\n")
    owner, name, *only = STEPS[step]
    raised, works = [], getattr(owner, name)

    def failing(*arguments, **options):
        if only and only[0] not in (*arguments, *options):
            return works(*arguments, **options)
        raised.append(name)
        raise RuntimeError(f"a defect in {name}")

    async with asyncio.timeout(30), _running(files, tmp_path / "kept") as (service, ask):
        await _eventually(lambda: service.reloader.edit.last)
        monkeypatch.setattr(owner, name, failing)
        if step == "a sample":
            service.start_task("a task", failing)
        files.write(f"{GOOD}{'( ' if step in REFUSED else ''}\n# another")
        signal.raise_signal(signal.SIGHUP)
        (tmp_path / "rules" / "poke.rules").write_text("")
        await _eventually(lambda: raised)
        assert (await ask("GET", "/-/healthy")).code == 200
        monkeypatch.setattr(owner, name, works)
        files.write(f"{GOOD}\n# mended")
        (tmp_path / "rules" / "poke.rules").write_text("# again")
        await _eventually(lambda: b"# mended" in service.serving.configuration.snapshot.rules.files[-1].data)
        assert (await ask("POST", "/-/reload")).code == 200
        state = json.loads((await ask("GET", "/-/status")).body)
        assert state["lastFailedAttempt"] is None
        page = (await ask("GET", "/-/")).body.decode()
    assert f"a defect in {name}" in caplog.text
    for defect in state["defects"]:
        assert defect["error"] == f"RuntimeError: a defect in {name}"
        assert "A defect of the service: " in page


async def test_a_reload_with_a_relative_configuration_outlives_its_directory(tmp_path, monkeypatch):
    """The copy cannot be kept, and says so; the service goes on."""
    folder = tmp_path / "folder"
    folder.mkdir()
    Files.create(folder, site=GOOD)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(process, "probe_stores", _no_probe)
    relative = Files(folder.__class__())
    async with asyncio.timeout(30), _running(relative, tmp_path / "kept") as (service, ask):
        await _eventually(lambda: service.reloader.edit.last)
        folder.rename(tmp_path / "elsewhere")
        for each in sorted((tmp_path / "elsewhere").rglob("*"), reverse=True):
            each.rmdir() if each.is_dir() else each.unlink()
        (tmp_path / "elsewhere").rmdir()
        await ask("POST", "/-/reload")
        service.bus.emit(service.reloader.edit.last)
        await _eventually(lambda: service.last_good.trouble)
        assert "was removed" in service.last_good.trouble
        assert (await ask("GET", "/-/ready")).code == 200
