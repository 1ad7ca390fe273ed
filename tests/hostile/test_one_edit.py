"""An edit has one state, whatever happens: edits, rotations, signals, restarts and kills at any step, beside a model."""

import asyncio
import os
import signal
import socket
import threading
from base64 import b64encode
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from administering import CONFIGURATION, RULES, Admin, eventually
from endless_s3 import endless_s3
from files import ENVIRONMENT, Files
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from in_force import RecordingServing
from msgspec.structs import replace
from running import start_proxy

from tornado_proxy.admin.administration import Administration
from tornado_proxy.service import last_good, process, reloading
from tornado_proxy.service.last_good import LastGood, NoLastGood
from tornado_proxy.service.process import Launch, Notifier, Process, Sockets
from tornado_proxy.service.snapshot import Configuration, Snapshot, SnapshotReader, compile_snapshot
from tornado_proxy.telemetry.events import ReloadReport

GOOD = 'rewrite a `^/a$` -> "/b"'
BAD = 'rewrite `^/(` -> "/b"'
TEXTS = {"good": GOOD, "better": f'{GOOD}\nrewrite `^/x$` -> "/y"', "bad": BAD, "worse": BAD + BAD}
REWRITES = {"good": 1, "better": 2}
KILLS = ("reading", "compiling", "activating", "activated", "half the copy", "the copy aside", "the copy in place")


class Killed(BaseException):
    """Ends a thread or a task as SIGKILL does: nobody catches it."""


class KeptCopy(LastGood):
    """A last good copy that tells which snapshot it was asked to keep last."""

    seen: Snapshot | None = None

    def keep(self, snapshot: Snapshot) -> None:
        """Keeps it, and notes it."""
        super().keep(snapshot)
        self.seen = snapshot


class Life:
    """A process from its start to its end, on an event loop of its own."""

    def __init__(self, files: Files, configuration: Configuration, *, from_copy: bool) -> None:
        self.files, self.reader = files, SnapshotReader(files.configuration, ENVIRONMENT, lambda _: None)
        self.trouble = self.kill_at = ""
        self.killed = threading.Event()
        self.told: list[str] = []
        self.patch = pytest.MonkeyPatch()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        address = files.folder / "notify"
        address.unlink(missing_ok=True)
        self.socket.bind(str(address))
        self.socket.setblocking(False)
        self.status = ""  # the line of `systemctl status`
        self.readied = 0
        self.copy = KeptCopy(files.folder / "kept")
        self.serving = RecordingServing(configuration)
        told = Notifier(str(address)), self.copy, from_copy, self.reader.renewed
        launch = Launch(Sockets((), ""), self._read, self._administer, lambda: None, *told)
        self._patch_kills()
        self.runner = asyncio.Runner()
        self.runner.get_loop().set_exception_handler(lambda *_: None)  # of tasks that were killed
        self.runner.run(self._start(launch))

    def _patch_kills(self) -> None:
        """Lets each step of an edit and of a copy be the last one."""
        compile_, activate, fsync, rename = compile_snapshot, self.serving.activate, os.fsync, os.replace

        def compiling(*arguments):
            self.at("compiling")
            return compile_(*arguments)

        async def activating(*arguments):
            self.at("activating")
            await activate(*arguments)
            self.at("activated")

        def syncing(descriptor):
            if self.kill_at == "half the copy":
                os.ftruncate(descriptor, 100)
            self.at("half the copy")
            fsync(descriptor)

        def renaming(*paths):
            self.at("the copy aside")
            rename(*paths)
            self.at("the copy in place")

        async def no_follower(_reloader):
            await asyncio.Event().wait()

        async def no_probe(_generation):
            return []

        self.patch.setattr(reloading, "compile_snapshot", compiling)
        self.patch.setattr(self.serving, "activate", activating)
        self.patch.setattr(last_good.os, "fsync", syncing)
        self.patch.setattr(os, "replace", renaming)
        self.patch.setattr(process, "follow", no_follower)  # the machine looks, and knows when
        self.patch.setattr(process, "probe_stores", no_probe)

    def at(self, step: str) -> None:
        """Dies if this is the step."""
        if self.kill_at == step:
            self.killed.set()
            raise Killed

    def _read(self) -> Snapshot:
        self.at("reading")
        if self.trouble == "a defect":
            raise RuntimeError(self.trouble)
        return replace(self.files.read(), settled=self.trouble != "unsettled")

    @asynccontextmanager
    async def _administer(self, service: Process):
        self.administration = Administration(service)
        service.bus.add(lambda report: self.told.append(report.outcome.value), ReloadReport)
        yield

    async def _start(self, launch: Launch) -> None:
        self.process = Process(launch, self.serving)
        self.running = asyncio.ensure_future(self.process.run())
        await self._until(lambda: self.readied == 1 and self._is_kept())

    def _is_kept(self) -> bool:
        return self.copy.seen is self.serving.configuration.snapshot

    async def _until(self, holds) -> None:
        """Waits for what is told in its own way, or a kill, and reads what the service manager was told."""
        async with asyncio.timeout(20):
            while not (self._heard() or holds() or self.killed.is_set()):  # noqa: ASYNC110 - told in many ways
                await asyncio.sleep(0.0005)

    def _heard(self) -> None:
        while True:
            try:
                fields = self.socket.recv(10_000).decode().split("\n")
            except BlockingIOError:
                return
            self.readied += "READY=1" in fields
            self.status = next((each for each in fields if each.startswith("STATUS=")), self.status)

    def reload(self, way: str) -> None:
        """Looks at the files as the watcher does, or gets signals; returns when all is done, or the process is killed."""
        self.runner.run(self._reload(way))

    async def _reload(self, way: str) -> None:
        signals, before = way.count("signal"), self.readied
        for _ in range(signals):
            signal.raise_signal(signal.SIGHUP)
        looking = asyncio.ensure_future(self.process.reloader.reload()) if "look" in way else None
        await self._until(
            lambda: (not looking or looking.done()) and (not signals or self.readied > before) and self._is_kept()
        )

    def end(self) -> None:
        """Ends by SIGTERM."""
        signal.raise_signal(signal.SIGTERM)
        self.runner.run(self._ended())
        self.drop()

    async def _ended(self) -> None:
        async with asyncio.timeout(20):
            await self.running

    def drop(self) -> None:
        """Ends at once: nothing more is done."""
        self.patch.undo()
        self.runner.close()
        self.socket.close()


class Edits(RuleBasedStateMachine):
    """A service beside a model of it: what the files say, what is in force, what the copy has, and what was refused."""

    @initialize()
    def begin(self):
        """Good files are in force."""
        self.folder = TemporaryDirectory()
        self.files = Files.create(Path(self.folder.name), site=GOOD)
        self.disk: tuple[str, str | None] = ("good", "s3cret")
        self.copy: str | None = None
        self.life: Life | None = None
        self.start()

    def teardown(self):
        """All goes."""
        if hasattr(self, "folder"):
            if self.life:
                self.life.drop()
            self.folder.cleanup()

    def _write(self, text, secret):
        """Edits the files; the model follows. Empty is as it was."""
        self.disk = text or self.disk[0], (None if secret == "gone" else secret or self.disk[1])
        for path, name, content in (
            (self.files.path(), text, f"target site {{\n{TEXTS.get(text)}\n}}\n"),
            (self.files.folder / "secret", secret, secret),
        ):
            if name == "gone":
                path.unlink(missing_ok=True)
            elif name:
                path.write_text(content)

    @property
    def _is_good(self):
        return self.disk[0] in REWRITES and self.disk[1] is not None

    def start(self):
        """Starts from the files, or from the copy if they are bad; if neither can be used, the files are mended first."""
        if not self._is_good and not (self.copy and self.disk[1]):
            self._write("good", "s3cret")
        from_copy = not self._is_good
        text = self.copy if from_copy else self.disk[0]
        configuration = compile_snapshot(self.files.read())
        assert configuration.usable is not from_copy
        try:
            kept = LastGood(self.files.folder / "kept").read(self.files.configuration, ENVIRONMENT)
        except NoLastGood:
            assert self.copy is None
        else:
            assert self.disk[1] is None or compile_snapshot(kept).rewrite_count == REWRITES[self.copy]
            configuration = compile_snapshot(kept) if from_copy else configuration
        self.in_force, self.generation, self.copy = (text, self.disk[1]), 1, text
        self.is_refused, self.from_copy, self.refusal, self.told = False, from_copy, (), list[str]()
        self.life = Life(self.files, configuration, from_copy=from_copy)

    @rule(text=st.sampled_from(["", *TEXTS, "gone"]), secret=st.sampled_from(["", "", "s3cret", "rotated", "gone"]))
    def edit(self, text, secret):
        """The files change, and nobody looks yet."""
        self._write(text, secret)

    @rule(
        text=st.sampled_from(["", *TEXTS, "gone"]),
        secret=st.sampled_from(["", "", "s3cret", "rotated", "gone"]),
        trouble=st.sampled_from(["", "", "", "a defect", "unsettled"]),
        way=st.sampled_from(["look", "signal", "signal signal", "look signal"]),
        kill_at=st.sampled_from(["", "", "", "", *KILLS]),
    )
    def reload(self, text, secret, trouble, way, kill_at):
        """After an edit, a rotation, both or none: a look or signals; some fail, and some are never finished."""
        self._write(text, secret)
        self.life.trouble, self.life.kill_at = trouble, kill_at
        self.life.reload(way)
        if self.life.killed.is_set():
            if kill_at == "the copy in place":
                self.copy = self.disk[0] if self._is_good and not trouble else self.in_force[0]
            self.life.drop()
            self.start()
            return
        self.life.kill_at = ""
        self._follow(trouble)
        if way == "look signal":
            self._follow(trouble)
        self.copy = self.in_force[0]

    def _follow(self, trouble):
        """The model of a reload."""
        text, secret = self.disk
        if trouble == "a defect":
            expected = "failed"
        elif self.disk == self.in_force:
            expected = "reverted" if self.is_refused or self.from_copy else "unchanged"
        else:
            expected = "loaded" if self._is_good and not trouble else "refused"
        # The files are looked at every few seconds, and each state of them is told once; no rules are read without settings.
        refusal = trouble, text * bool(trouble != "a defect" and secret), secret is None
        was_refused, self.is_refused = self.is_refused, expected in ("failed", "refused")
        is_known = was_refused and self.is_refused and refusal == self.refusal
        if expected != "unchanged" and not is_known:
            self.told.append(expected)
        self.refusal = refusal
        self.from_copy = self.from_copy and self.is_refused
        # What is in force has the secret of now, whatever becomes of the edit.
        before, self.in_force = self.in_force, (self.in_force[0], secret or self.in_force[1])
        if expected == "loaded":
            self.in_force = self.disk
        self.generation += before != self.in_force

    @rule(signals=st.sampled_from([0, 0, 1]))
    def restart(self, signals):
        """SIGTERM, with a reload that has just been asked for or without, and a start."""
        for _ in range(signals):
            signal.raise_signal(signal.SIGHUP)
        self.life.end()
        self.start()

    @invariant()
    def all_say_the_same(self):
        """Status, metrics, log, status line and what is in force agree with the model."""
        life = self.life
        configuration = life.serving.configuration
        secret = configuration.settings.targets[0].bucket.credentials.secret_key.reveal()
        assert (configuration.rewrite_count, secret) == (REWRITES[self.in_force[0]], self.in_force[1])
        view = life.runner.run(life.administration.status())
        metrics = life.runner.run(life.administration.metrics()).decode().splitlines()
        assert f"tornado_proxy_config_last_reload_successful {float(not self.is_refused)}" in metrics
        assert f"tornado_proxy_generation {float(self.generation)}" in metrics
        assert (view["generation"], view["startedFromLastGood"]) == (self.generation, self.from_copy)
        assert (view["lastFailedAttempt"] is not None) is self.is_refused
        assert [each for each in life.told if each != "renewed"] == self.told
        assert life.status.startswith(f"STATUS=generation {self.generation}, ")
        assert ("refused" in life.status, "last good copy" in life.status) == (self.is_refused, self.from_copy)


TestEdits = Edits.TestCase
TestEdits.settings = settings(max_examples=settings().max_examples // 3, stateful_step_count=20, deadline=None)


def test_a_process_that_is_killed_leaves_the_last_good_edit(tmp_path):
    """A process is killed by SIGKILL with a bad edit on disk: the next one has the good edit before it, and takes another."""
    options, bad = ("--last-good", str(tmp_path / "kept")), "target site {\n rewrite `^/(` -> `/x`\n}\n"
    with endless_s3() as (endpoint, _):
        text, rules = CONFIGURATION.format(endpoint=endpoint), RULES.format("first")
        for before, after in pairwise(("first", "second", "third")):
            with start_proxy(tmp_path, text, *options, site=rules) as proxy:
                admin = Admin.of(proxy)
                assert proxy.request("GET", "/a").body == f"{before}/a.txt".encode()
                if rules == bad:
                    status = admin.wait_for_status(lambda status: status["lastFailedAttempt"] is not None)
                    assert (status["startedFromLastGood"], status["generation"]) == (True, 1)
                    assert any("started from the last good copy" in line for line in proxy.lines)
                (tmp_path / "rules" / "site.rules").write_text(RULES.format(after))
                assert admin.reload()[0] == 200
                assert not admin.status()["startedFromLastGood"]
                kept = b64encode(RULES.format(after).encode()).decode()
                eventually(lambda: kept in (tmp_path / "kept" / "snapshot.json").read_text())  # noqa: B023 - called now
                rules = bad
                (tmp_path / "rules" / "site.rules").write_text(bad)
                assert admin.reload()[0] == 422
                proxy.process.kill()
                proxy.process.wait()
