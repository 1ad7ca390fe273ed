"""`tornado-proxy config show` and `convert`."""

import json
from pathlib import Path

import pytest
import yaml

from tornado_proxy.cli.main import main
from tornado_proxy.cli.output import ExitStatus

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
    """The output has their sources instead."""
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


SAME = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"


@pytest.fixture
def conf(tmp_path):
    """A directory with a configuration in which nothing differs."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "a.yaml").write_text(SAME)
    return tmp_path / "conf"


def _convert(*words):
    return main(["convert", "s3-proxy", *map(str, words)])


def test_what_is_carried_over_whole_is_clean(conf, tmp_path, capsys):
    """The command writes configuration and report, and names both files."""
    assert _convert(conf, "--out", tmp_path / "out") == ExitStatus.CLEAN
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == ["report.md", "tornado-proxy.yaml"]
    assert f"wrote {tmp_path / 'out' / 'tornado-proxy.yaml'}\n" in capsys.readouterr().out


def test_what_needs_a_look_is_a_finding(conf, tmp_path, capsys):
    """The report on standard output has its place."""
    (conf / "b.yaml").write_text("tracing: {enabled: true}\n")
    assert _convert(conf, "--out", tmp_path / "out") == ExitStatus.FINDINGS
    assert f"{conf / 'b.yaml'}:1, `tracing`: " in capsys.readouterr().out


def test_the_report_is_there_for_programs(conf, tmp_path, capsys):
    """`--format json` prints one document."""
    assert _convert(conf, "--out", tmp_path / "out", "--format", "json") == ExitStatus.CLEAN
    assert json.loads(capsys.readouterr().out)["complete"] is True


def test_keys_are_read_as_asked(conf, tmp_path):
    """`--keys-as documented` takes rules as they are."""
    (conf / "b.yaml").write_text("targets: {site: {keyRewriteList: [{source: ^/a$, target: /b}]}}\n")
    assert _convert(conf, "--out", tmp_path / "out") == ExitStatus.FINDINGS
    assert _convert(conf, "--out", tmp_path / "out", "--keys-as", "documented", "--force") == ExitStatus.CLEAN
    assert 'rewrite `^/a$` -> "/b"' in (tmp_path / "out" / "rules" / "site.rules").read_text()


def test_nothing_is_replaced_unasked(conf, tmp_path, capsys):
    """A second conversion needs `--force`."""
    assert _convert(conf, "--out", tmp_path) == ExitStatus.CLEAN
    assert _convert(conf, "--out", tmp_path) == ExitStatus.FAILED
    assert "exists; `--force` replaces it" in capsys.readouterr().err
    assert _convert(conf, "--out", tmp_path, "--force") == ExitStatus.CLEAN


@pytest.mark.parametrize("text", ["targets: [", SAME.replace("bucket:", "actions: {GET: {enabled: maybe}}, bucket:")])
def test_what_cannot_be_read_is_a_failure(text, conf, tmp_path, capsys):
    """And nothing is written."""
    (conf / "a.yaml").write_text(text)
    assert _convert(conf, "--out", tmp_path / "out") == ExitStatus.FAILED
    assert "error" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
