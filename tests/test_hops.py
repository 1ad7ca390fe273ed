"""How many files and functions of ours the common ways pass: a ratchet against crumbs and wrappers."""

from __future__ import annotations

import asyncio
import sys
from contextlib import contextmanager
from pathlib import Path

from serving import serve

PACKAGE = f"{Path(__file__).parent.parent / 'tornado_proxy'}/"


@contextmanager
def hops():
    """The functions of the product that are called meanwhile in this thread, each by its file and its line."""
    passed: set[tuple[str, int]] = set()

    def note(frame, event, _argument):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            passed.add((code.co_filename.removeprefix(PACKAGE), code.co_firstlineno))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield passed
    finally:
        sys.setprofile(before)


def _files(passed):
    return {file for file, _ in passed}


async def _get():
    rules = r'rewrite `^/press/(?P<page>[^/]+)\.html$` -> "/archive/press/$page.html"'
    async with serve({"archive/press/spring.html": b"x"}, rules=rules) as site, site.connect() as client:
        await client.request("GET", "/press/spring.html")
        with hops() as passed:
            answer = await client.request("GET", "/press/spring.html")
    assert answer.status == 200
    return passed


def test_a_get_passes_few_files_and_functions():
    """A GET from memory with one rewrite: the figures may only go down, to 20 files and 70 functions."""
    passed = asyncio.run(_get())
    assert len(_files(passed)) <= 24, sorted(_files(passed))
    assert len(passed) <= 108, sorted(passed)
