"""The rules and the dashboard of monitoring/, checked by Prometheus's tool."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from test_monitoring import ANNOTATIONS, FOLDER, PANELS

pytestmark = pytest.mark.integration

_PARTS = Path(os.environ.get("TORNADO_PROXY_PARTS", "/var/cache/tornado-proxy"))


@pytest.fixture
def promtool(tmp_path):
    """Runs Prometheus's tool in a directory that has the rules."""
    program = _PARTS / "prometheus" / "usr" / "bin" / "promtool"
    if not program.exists():
        pytest.skip("promtool is not there: `tests/integration/install prometheus` fetches it")
    shutil.copy(FOLDER / "rules.yaml", tmp_path)

    def run(*arguments: str) -> str:
        result = subprocess.run([program, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    return run


def test_the_rules_are_valid(promtool):
    """`promtool check rules` succeeds."""
    assert "SUCCESS" in promtool("check", "rules", "rules.yaml")


def test_alerts_fire_for_faulty_series_only(promtool, tmp_path):
    """Each alert fires for its faulty series, and not for good ones."""
    shutil.copy(Path(__file__).parent / "rules_test.yaml", tmp_path)
    assert "SUCCESS" in promtool("test", "rules", "rules_test.yaml")


def test_every_expression_of_the_dashboard_is_valid(promtool, tmp_path):
    """Every expression of the dashboard parses once its variables are replaced."""
    expressions = [*PANELS, *ANNOTATIONS]
    rules = [
        {"record": f"a:b:{number}", "expr": re.sub(r"\$\w+", "5m", text)} for number, text in enumerate(expressions)
    ]
    (tmp_path / "dashboard.yaml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(rules)} rules found" in promtool("check", "rules", "dashboard.yaml")
