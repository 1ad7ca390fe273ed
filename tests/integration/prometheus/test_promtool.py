"""monitoring/, as Prometheus reads it."""

from __future__ import annotations

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

    def run(*words: str) -> str:
        done = subprocess.run([program, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_the_rules_are_sound(promtool):
    """`promtool check rules` finds nothing."""
    assert "SUCCESS" in promtool("check", "rules", "rules.yaml")


def test_alerts_fire_when_they_should(promtool, tmp_path):
    """Each alert fires for the series that it is for, and stays silent for good ones."""
    shutil.copy(Path(__file__).parent / "rules_test.yaml", tmp_path)
    assert "SUCCESS" in promtool("test", "rules", "rules_test.yaml")


def test_the_dashboard_asks_what_prometheus_understands(promtool, tmp_path):
    """Every expression parses, its variables filled in."""
    expressions = [*PANELS, *ANNOTATIONS]
    rules = [
        {"record": f"a:b:{number}", "expr": re.sub(r"\$\w+", "5m", text)} for number, text in enumerate(expressions)
    ]
    (tmp_path / "dashboard.yaml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(rules)} rules found" in promtool("check", "rules", "dashboard.yaml")
