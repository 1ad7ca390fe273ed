"""`tornado-proxy config show`."""

import json
from pathlib import Path

import pytest
import yaml

CONFIGURATION = """
targets:
  site:
    bucket:
      name: my-bucket
      credentials: {accessKey: {value: not-to-be-shown}, secretKey: {env: SECRET}}
"""


@pytest.fixture
def written(command):
    """A configuration."""
    Path("proxy.yaml").write_text(CONFIGURATION)


def test_defaults_are_filled_in(command, written):
    """Every option is there, by its name in the file."""
    done = command("config", "show", "--config", "proxy.yaml")
    shown = yaml.safe_load(done.out)
    assert done.status == 0
    assert (shown["server"]["port"], shown["targets"]["site"]["mount"]) == (8080, {"host": "", "path": ["/"]})


def test_secrets_are_left_out(command, written):
    """In their place stands where they come from."""
    done = command("config", "show", "--config", "proxy.yaml")
    assert "not-to-be-shown" not in done.out
    pair = yaml.safe_load(done.out)["targets"]["site"]["bucket"]["credentials"]
    assert pair["secretKey"] == {"secret": "the environment variable `SECRET`"}


def test_programs_read_json(command, written):
    """Both forms hold the same."""
    plain = yaml.safe_load(command("config", "show", "--config", "proxy.yaml").out)
    assert json.loads(command("config", "show", "--config", "proxy.yaml", "--format", "json").out) == plain


def test_mistakes_are_shown_instead(command):
    """Status 1, and the diagnostics."""
    Path("proxy.yaml").write_text("nonsense: 1\n")
    done = command("config", "show", "--config", "proxy.yaml")
    assert (done.status, done.out) == (1, "")
    assert "unknown option `nonsense`" in done.err


def test_a_configuration_that_is_not_there_is_a_failure(command):
    """Status 2."""
    assert command("config", "show", "--config", "nowhere.yaml").status == 2
