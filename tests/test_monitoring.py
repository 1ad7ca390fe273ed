"""The metrics and labels that the files of monitoring/ use exist."""

import json
import re
from pathlib import Path

import pytest
import yaml
from administering import service
from prometheus_client.parser import text_string_to_metric_families

FOLDER = Path(__file__).parent.parent / "monitoring"
RULES = yaml.safe_load((FOLDER / "rules.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8"))

_NAME = re.compile(r"(?<![\w:])(?:tornado_proxy|process)_\w+(?![\w:])")
_OF_PROMETHEUS = {"job", "instance", "le"}

PANELS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
QUERIES = [variable["query"]["query"] for variable in DASHBOARD["templating"]["list"] if variable["type"] == "query"]
ANNOTATIONS = [annotation["expr"] for annotation in DASHBOARD["annotations"]["list"]]
EXPRESSIONS = [rule["expr"] for rule in RULES] + [*PANELS, *QUERIES, *ANNOTATIONS]


@pytest.fixture(scope="module")
def scraped(tmp_path_factory):
    """The metrics that a service exposes after a request, each with the labels of its samples."""
    with service(tmp_path_factory.mktemp("scraped")) as (proxy, admin):
        proxy.request("GET", "/a")
        admin.wait_for_status(lambda status: status["targets"]["site"]["probe"])
        text = admin.request("GET", "/metrics")[1]
    metrics: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        metrics.setdefault(f"{family.name}_total" if family.type == "counter" else family.name, set())
        for sample in family.samples:
            metrics.setdefault(sample.name, set()).update(sample.labels)
    return metrics


def test_every_used_metric_exists(scraped):
    """Each metric in an expression is exposed; an alert on another metric would never fire."""
    used = {name for text in EXPRESSIONS for name in _NAME.findall(text)}
    assert len(used) > 15
    assert used - set(scraped) == set()


def test_every_used_label_exists(scraped):
    """Each label in a matcher is one of its metric; a matcher for another label would match nothing."""
    for text in EXPRESSIONS:
        for name, matchers in re.findall(r"((?:tornado_proxy|process)_\w+)\{([^}]*)\}", text):
            labels = set(re.findall(r"(\w+)\s*[=!]~?", matchers)) - _OF_PROMETHEUS
            assert labels <= (scraped[name] or labels), f"{name}: {text}"


def test_every_used_recording_rule_exists():
    """A name with colons in an expression is the name of a recording rule."""
    recorded = {rule["record"] for rule in RULES if "record" in rule}
    used = {name for text in EXPRESSIONS for name in re.findall(r"\b\w+:\w+:\w+\b", text)}
    assert used <= recorded


def test_every_alert_has_a_summary_and_a_description():
    """Each alert has a summary, a description and a severity."""
    alerts = [rule for rule in RULES if "alert" in rule]
    assert all(set(alert["annotations"]) == {"summary", "description"} for alert in alerts)
    assert all(alert["labels"]["severity"] in ("critical", "warning") for alert in alerts)


def test_panels_do_not_overlap():
    """Panels fit into the grid of 24 columns and do not overlap."""
    occupied = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & occupied, panel["title"]
        assert place["x"] + place["w"] <= 24
        occupied |= cells
