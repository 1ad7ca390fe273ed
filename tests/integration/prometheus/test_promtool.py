"""The rules and the dashboard of monitoring/, checked by Prometheus's tool."""

import re
import shutil
from functools import partial
from pathlib import Path

import pytest
import yaml
from programs import output_of, part
from test_monitoring import ANNOTATIONS, FOLDER, PANELS

pytestmark = pytest.mark.integration


@pytest.fixture
def promtool(tmp_path):
    """Runs Prometheus's tool in a directory that has the rules."""
    shutil.copy(FOLDER / "rules.yaml", tmp_path)
    return partial(output_of, part("prometheus/usr/bin/promtool", "prometheus"), cwd=tmp_path)


def test_the_rules_are_valid(promtool):
    assert "SUCCESS" in promtool("check", "rules", "rules.yaml")


def test_alerts_fire_for_faulty_series_only(promtool, tmp_path):
    shutil.copy(Path(__file__).parent / "rules_test.yaml", tmp_path)
    assert "SUCCESS" in promtool("test", "rules", "rules_test.yaml")


def test_every_expression_of_the_dashboard_is_valid(promtool, tmp_path):
    expressions = [*PANELS, *ANNOTATIONS]
    expressions = [re.sub(r"\$\w+", "5m", text) for text in expressions]
    rules = [{"record": f"a:b:{number}", "expr": text} for number, text in enumerate(expressions)]
    (tmp_path / "dashboard.yaml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(rules)} rules found" in promtool("check", "rules", "dashboard.yaml")
