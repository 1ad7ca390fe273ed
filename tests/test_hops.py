"""Limits on the number of files and functions of the product that a GET, an edit and a lint pass through."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from files import ENVIRONMENT, Files
from serving import serve

from tornado_proxy.cli.main import main
from tornado_proxy.service.logs import close_logging
from tornado_proxy.service.reload import Reloader
from tornado_proxy.service.serving import SingleProcess
from tornado_proxy.service.snapshot import SnapshotReader, compile_snapshot
from tornado_proxy.telemetry.events import Bus, ReloadOutcome
from tornado_proxy.telemetry.log import log_service_events


@pytest.fixture(autouse=True)
def no_garbage():
    """Frees the garbage of earlier tests, so that no finalizer runs while functions are counted."""
    gc.collect()


PACKAGE = f"{Path(__file__).parent.parent / 'tornado_proxy'}/"


@contextmanager
def hops():
    """Collects the functions of the product that the block calls, in this thread and in threads that it starts."""
    functions: set[tuple[str, int]] = set()

    def record(frame, event, _argument):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            functions.add((code.co_filename.removeprefix(PACKAGE), code.co_firstlineno))

    before = sys.getprofile()
    sys.setprofile(record)
    threading.setprofile(record)
    try:
        yield functions
    finally:
        threading.setprofile(before)
        sys.setprofile(before)


def _files(functions):
    return {file for file, _ in functions}


def test_the_lint_of_a_rewrite_passes_few_files(tmp_path):
    """The command `lint` passes through at most 35 files for a rule file with one rewrite and one test."""
    rules = tmp_path / "site.rules"
    rules.write_text(
        'target site {\n  rewrite page `^/a/(?P<page>[^/]+)$` -> "/b/$page"\n\n  test "/a/x" -> "/b/x"\n}\n'
    )
    main(["lint", str(rules)])
    with hops() as passed:
        assert main(["lint", str(rules)]) == 0
    assert len(_files(passed)) <= 35, sorted(_files(passed))


async def _get():
    rules = r'rewrite `^/press/(?P<page>[^/]+)\.html$` -> "/archive/press/$page.html"'
    async with serve({"archive/press/spring.html": b"x"}, rules=rules) as site, site.connect() as client:
        passed = []
        # The functions that all requests call: some requests also make the date of the next second, or wake a timer.
        for _ in range(20):
            with hops() as functions:
                answer = await client.request("GET", "/press/spring.html")
            assert answer.status == 200
            passed.append(functions)
    return set.intersection(*passed)


def test_a_get_passes_few_files_and_functions():
    """A GET from memory with one rewrite passes through at most 18 files and 67 functions; the limits may only go down."""
    passed = asyncio.run(_get())
    assert len(_files(passed)) <= 18, sorted(_files(passed))
    assert len(passed) <= 67, "\n".join(f"{file}:{line}" for file, line in sorted(passed))


async def _edit(files):
    close_logging()  # the log of an earlier test would be counted
    reader, bus = SnapshotReader(files.configuration, ENVIRONMENT), Bus()
    log_service_events(bus)
    first = compile_snapshot(reader())
    serving = SingleProcess(first)
    reloader = Reloader(first, serving, reader, bus.emit)
    files.write('rewrite `^/a$` -> "/c"')
    with hops() as passed:
        report = await reloader.reload()
    await serving.wind_down(0)
    assert report.outcome is ReloadOutcome.LOADED
    return passed


def test_an_edit_passes_few_files(tmp_path):
    """A change of a rewrite passes through at most 26 files and 219 functions, up to its log line; the limits may only go down."""
    passed = asyncio.run(_edit(Files.create(tmp_path, site='rewrite `^/a$` -> "/b"')))
    assert len(_files(passed)) <= 26, sorted(_files(passed))
    assert len(passed) <= 219, sorted(passed)
