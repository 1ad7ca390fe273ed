"""monitoring/: what the rules and the dashboard ask for is there to be scraped."""

from __future__ import annotations

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
QUERIES = [each["query"]["query"] for each in DASHBOARD["templating"]["list"] if each["type"] == "query"]
ANNOTATIONS = [each["expr"] for each in DASHBOARD["annotations"]["list"]]
EXPRESSIONS = [rule["expr"] for rule in RULES] + [*PANELS, *QUERIES, *ANNOTATIONS]


@pytest.fixture(scope="module")
def scraped(tmp_path_factory):
    """The names of the series that a service exposes after a request, each with the labels that it was seen with."""
    with service(tmp_path_factory.mktemp("scraped")) as (proxy, admin):
        proxy.request("GET", "/a")
        admin.wait_for_status(lambda status: status["targets"]["site"]["probe"])
        text = admin.request("GET", "/metrics")[1]
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        found.setdefault(f"{family.name}_total" if family.type == "counter" else family.name, set())
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def test_every_metric_that_is_asked_for_is_scraped(scraped):
    """A rule on a metric that does not exist would never fire."""
    asked = {name for text in EXPRESSIONS for name in _NAME.findall(text)}
    assert len(asked) > 15
    assert asked - set(scraped) == set()


def test_series_are_chosen_by_labels_that_they_have(scraped):
    """A matcher for a label that a metric does not have matches nothing."""
    for text in EXPRESSIONS:
        for name, matchers in re.findall(r"((?:tornado_proxy|process)_\w+)\{([^}]*)\}", text):
            asked = set(re.findall(r"(\w+)\s*[=!]~?", matchers)) - _OF_PROMETHEUS
            assert asked <= (scraped[name] or asked), f"{name}: {text}"


def test_recorded_series_are_recorded():
    """A name with colons is that of a recording rule."""
    recorded = {rule["record"] for rule in RULES if "record" in rule}
    used = {name for text in EXPRESSIONS for name in re.findall(r"\b\w+:\w+:\w+\b", text)}
    assert used <= recorded


def test_every_alert_says_what_happened_and_what_to_do():
    """Whoever is woken up reads both."""
    alerts = [rule for rule in RULES if "alert" in rule]
    assert all(set(alert["annotations"]) == {"summary", "description"} for alert in alerts)
    assert all(alert["labels"]["severity"] in ("critical", "warning") for alert in alerts)


def test_panels_do_not_overlap():
    """Each stands in the grid of 24 columns, beside the others."""
    taken = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells


def test_the_page_names_every_alert():
    """docs/operations.md says what the alerts are."""
    text = (FOLDER.parent / "docs" / "operations.md").read_text(encoding="utf-8")
    assert [rule["alert"] for rule in RULES if "alert" in rule and f"`{rule['alert']}`" not in text] == []
