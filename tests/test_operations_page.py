"""docs/operations.md describes the metrics, pages and units of the service completely."""

import re
from pathlib import Path

import pytest

from tornado_proxy.admin.application import PATHS
from tornado_proxy.telemetry.events import ReloadOutcome
from tornado_proxy.telemetry.exposition import ProcessMetrics, ServiceState, service_metrics
from tornado_proxy.telemetry.metrics import RequestMetrics

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
UNITS = sorted((ROOT / "systemd").iterdir())


def _metrics() -> dict[str, tuple[str, ...]]:
    """The exposed metrics with their labels."""
    families = [
        *service_metrics(ServiceState("1", "abc", 1, 0.0)),
        *RequestMetrics().collect(),
        *ProcessMetrics().collect(),
    ]
    suffix = {"counter": "_total"}
    families = [family for family in families if family.name.startswith("tornado_proxy")]
    return {family.name + suffix.get(family.type, ""): tuple(family._labelnames) for family in families}


def test_every_metric_is_documented_with_its_labels():
    """The table lists exactly the exposed metrics, with their labels."""
    rows = re.findall(r"^\| `(tornado_proxy_\w+)` \| (.*?) \|", TEXT, re.MULTILINE)
    assert {name: tuple(re.findall(r"`(\w+)`", labels)) for name, labels in rows} == _metrics()


@pytest.mark.parametrize("path", PATHS)
def test_every_page_of_the_admin_listener_is_documented(path):
    assert re.search(rf"^\| `(GET|POST) {path}` \|", TEXT, re.MULTILINE)


@pytest.mark.parametrize("outcome", ReloadOutcome)
def test_every_outcome_is_documented(outcome):
    assert f"`{outcome.value}`" in TEXT


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_every_unit_is_documented(unit):
    assert f"| `{unit.name}` |" in TEXT


def _directives(name: str) -> list[str]:
    text = (ROOT / "systemd" / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_instances_are_confined_like_the_single_service():
    """The two services differ only in the directives that belong to an instance."""
    single, instance = _directives("tornado-proxy.service"), _directives("tornado-proxy@.service")
    different = {line.partition("=")[0] for line in set(single) ^ set(instance)}
    assert different == {"Description", "Sockets", "ExecStart", "ExecReload", "StateDirectory", "RuntimeDirectory"}


def test_socket_units_have_the_names_that_the_service_expects():
    """The names of the descriptors in the socket units are `http` and `admin`."""
    names = {
        line.partition("=")[2]
        for unit in UNITS
        for line in _directives(unit.name)
        if line.startswith("FileDescriptorName=")
    }
    assert names == {"http", "admin"}
