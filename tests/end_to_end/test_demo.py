"""The demo as a newcomer meets it: ready soon, and everything that it says to try works."""

from __future__ import annotations

import json
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.parse import urljoin

import pytest
from running import START_LIMIT, start_demo

READY_WITHIN = 20  # seconds of processor time, with the commands that it prints: other processes take none of it


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What a running demo printed, which ends without a word, and takes few seconds of a processor."""
    before = _spent_by_children()
    with start_demo(tmp_path_factory.mktemp("demo")) as text:
        yield text
    assert _spent_by_children() - before < READY_WITHIN


def _spent_by_children():
    """Seconds of a processor that processes which have ended took."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def test_the_first_address_is_a_page(printed):
    """The first URL that it prints is a page of the demo site."""
    page = urllib.request.urlopen(re.search(r"http://\S+", printed)[0]).read().decode()
    assert "The demo site" in page


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_every_line_that_it_prints_works(printed, tmp_path):
    """Each curl line succeeds, and so does the explanation."""
    (tmp_path / "README.md").write_text("to be uploaded\n")
    commands = ("curl ", f"{sys.executable} ", "tornado-proxy ")
    lines = [line.strip() for line in printed.splitlines() if line.strip().startswith(commands)]
    assert len(lines) >= 9
    for line in lines:
        runnable = line.replace("curl ", "curl --fail ", 1)
        result = subprocess.run(["sh", "-c", runnable], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, f"{line}\n{result.stderr}"


def test_a_port_that_was_asked_for_is_not_exchanged():
    """Where `--port` names a port that is taken, the demo says so and ends."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "tornado_proxy", "demo", "--port", str(port)]
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=START_LIMIT)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"tornado-proxy demo: cannot listen on 127.0.0.1:{port}: Address already in use")


_EDITED = """
import sys, pathlib
from tornado_proxy.cli.main import main
from tornado_proxy.service import demo
demo._GALLERIES = (pathlib.Path(sys.argv[1]),)
sys.exit(main(["demo", "--port", "0", "--quiet"]))
"""


def test_an_edit_is_shown(tmp_path):
    """The demo asks for an edit of a rule, and says what it changed."""
    gallery = shutil.copytree(Path(__file__).parents[2] / "rules", tmp_path / "rules")
    command = [sys.executable, "-c", _EDITED, str(gallery)]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while "Ctrl-C" not in process.stdout.readline():
            assert process.poll() is None
        rules = next(path for path in gallery.rglob("*.rules") if "rewrite latest" in path.read_text())
        rules.write_text(rules.read_text().replace("2.1.0", "2.0.3"))
        said = process.stderr.readline() + process.stderr.readline()
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=START_LIMIT)
    assert re.search(r"generation 2 is in force: .*\n.* rewrites changed: `latest`", said)


def test_users_have_homes_of_their_own(printed):
    """The same address is another file for another user."""
    url = re.search(r"http://\S+", printed)[0]
    plans = set()
    for user in ("ann", "ben"):
        request = urllib.request.Request(f"{url}team/home/plan.txt")
        handler = urllib.request.HTTPPasswordMgrWithDefaultRealm()
        handler.add_password(None, url, user, "demo")
        opener = urllib.request.build_opener(urllib.request.HTTPBasicAuthHandler(handler))
        with opener.open(request) as answer:
            plans.add(answer.read())
    assert len(plans) == 2


def test_a_long_listing_has_a_next_page(printed):
    """The nightly builds do not fit one page, and `next` leads on."""
    url = re.search(r"http://\S+", printed)[0]
    names, page = [], f"{url}releases/nightly/?format=json"
    while page:
        with urllib.request.urlopen(page) as answer:
            listing = json.load(answer)
        names += [entry["name"] for entry in listing["entries"]]
        page = listing["next"] and urljoin(page, listing["next"])
    assert len(names) == 240
