"""The demo: it starts fast, and every command that it prints works."""

import json
import re
import resource
import shutil
import signal
import socket
import sys
from pathlib import Path
from subprocess import PIPE
from urllib.parse import urljoin

import pytest
from forking import ForkedProgram
from programs import output_of
from running import START_LIMIT, Proxy, start_demo

from tornado_proxy.cli.main import main

CPU_LIMIT = 20  # seconds of CPU time, including the commands that it prints


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """The output of a running demo, which ends without an error and within the limit of CPU time."""
    before = _cpu_seconds_of_children()
    with start_demo(tmp_path_factory.mktemp("demo")) as output:
        yield output
    assert _cpu_seconds_of_children() - before < CPU_LIMIT


def _cpu_seconds_of_children():
    """Returns the CPU time, in seconds, that ended child processes took."""
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


@pytest.fixture
def site(printed):
    """A client of the demo."""
    return Proxy(None, re.search(r"http://\S+", printed)[0].rstrip("/"))


def test_the_first_url_is_a_page(site):
    assert "The demo site" in site.request("GET", "/").text


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_every_printed_command_succeeds(printed, tmp_path):
    commands = ("curl ", "echo ", f"{sys.executable} ", "tornado-proxy ")
    lines = [line.strip() for line in printed.splitlines() if line.strip().startswith(commands)]
    assert len(lines) >= 9
    for line in lines:
        output_of("sh", "-c", line.replace("curl ", "curl --fail ", 1), cwd=tmp_path)


def test_a_taken_port_is_an_error(capfd):
    """The demo ends with an error if the port of `--port` is in use, instead of taking another port."""
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        port = occupied.getsockname()[1]
        assert main(["demo", "--port", str(port)]) == 2
    output, errors = capfd.readouterr()
    assert output == ""
    assert errors.startswith(f"tornado-proxy demo: cannot listen on 127.0.0.1:{port}: Address already in use")


_EDITED = """
import sys, pathlib
from tornado_proxy.cli.main import main
from tornado_proxy.cli import demo
demo._GALLERIES = (pathlib.Path(sys.argv[1]),)
sys.exit(main(["demo", "--port", "0", "--quiet"]))
"""


def test_an_edit_is_reported(tmp_path):
    gallery = shutil.copytree(Path(__file__).parents[2] / "rules", tmp_path / "rules")
    process = ForkedProgram(_EDITED, [str(gallery)], stdout=PIPE)
    with process.stdout, process.stderr:
        try:
            while "Ctrl-C" not in process.stdout.readline():
                assert process.poll() is None
            rules = next(path for path in gallery.rglob("*.rules") if "rewrite latest" in path.read_text())
            rules.write_text(rules.read_text().replace("2.1.0", "2.0.3"))
            reported = process.stderr.readline() + process.stderr.readline()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(START_LIMIT)
    assert re.search(r"generation 2 is in force: .*\n.* rewrites changed: `latest`", reported)


def test_each_user_has_an_own_home(site):
    assert len({site.request("GET", "/team/home/plan.txt", user=f"{user}:demo").text for user in ("ann", "ben")}) == 2


@pytest.mark.parametrize(
    "path", ["home/ben/plan.txt", "users/ben/plan.txt", "notes/ann/today.txt", "drafts/ann/letter.txt"]
)
def test_no_user_reads_the_files_of_another(site, path):
    user = "ann" if "/ben/" in path else "ben"
    assert site.request("GET", f"/team/{path}", user=f"{user}:demo").status == 404


def test_a_long_listing_has_several_pages(site):
    names, page = [], "/releases/nightly/?format=json&limit=100"
    while page:
        listing = json.loads(site.request("GET", page).body)
        names += [entry["name"] for entry in listing["entries"]]
        page = listing["next"] and urljoin(page, listing["next"])
    assert len(names) == 240
