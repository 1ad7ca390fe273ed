"""What is loaded at its first use is loaded even if no descriptor is free."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tornado_proxy.wire.late import late

_START = """
import json, os, resource, sys
from tornado_proxy.wire.late import keep_descriptors, late

def take_all():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 1, hard))
    taken = []
    while True:
        try:
            taken.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            return taken
"""


def _run(script: str) -> object:
    done = subprocess.run([sys.executable, "-c", _START + script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_loads_is_returned():
    """Loading is a plain call while descriptors are free."""
    assert late(lambda: 5) == 5


def test_a_module_is_imported_without_a_free_descriptor_again_and_again():
    """A kept descriptor serves an import of many files, and is kept again for the next one."""
    script = """
keep_descriptors()
take_all()
def pages():
    from tornado_proxy.pages.render import own_theme
    return own_theme()
def libraries():
    import prometheus_client, re2
    return prometheus_client
print(json.dumps([late(pages).title, late(libraries).__name__]))
"""
    assert _run(script) == ["", "prometheus_client"]


def test_without_a_kept_descriptor_the_error_is_raised():
    """A process that keeps none, such as a tool, sees why the file cannot be read."""
    script = """
take_all()
try:
    late(lambda: open(sys.executable))
except OSError as error:
    print(json.dumps(error.strerror))
"""
    assert _run(script) == "Too many open files"


@pytest.mark.parametrize("error", [FileNotFoundError("gone"), ModuleNotFoundError("gone")])
def test_an_error_of_another_kind_is_raised(error):
    """More attempts do not hide it."""
    script = f"""
keep_descriptors()
def fail():
    raise {type(error).__name__}("gone")
try:
    late(fail)
except {type(error).__name__} as error:
    print(json.dumps(str(error)))
"""
    assert _run(script) == "gone"


def test_a_thread_may_take_a_kept_descriptor_meanwhile():
    """There are a few, so that what another thread opens at this moment does not cost the page."""
    script = """
keep_descriptors()
take_all()
thieves = []
def load():
    if len(thieves) < 3:
        with open(os.devnull):
            pass
        thieves.append(os.open(os.devnull, os.O_RDONLY))
    return open(sys.executable).name
print(json.dumps(late(load) == sys.executable))
"""
    assert _run(script) is True


def test_a_forked_process_keeps_its_own():
    """A child does not close a number of its parent, which may be its own socket by now."""
    script = """
keep_descriptors()
reading, writing = os.pipe()
if os.fork() == 0:
    def fail():
        raise OSError("no retry here")
    calls = []
    try:
        late(lambda: calls.append(1) or fail())
    except OSError:
        os.write(writing, str(len(calls)).encode())
    os._exit(0)
print(json.dumps(os.read(reading, 9).decode()))
"""
    assert _run(script) == "1"
