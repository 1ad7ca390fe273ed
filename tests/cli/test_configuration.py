"""Tests `tornado-proxy config show` and `convert`."""

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
def configuration(command):
    """Writes a configuration to the current directory."""
    Path("proxy.yaml").write_text(CONFIGURATION)


def test_defaults_are_shown(command, configuration):
    """Every option is shown with its value, by its name in the file."""
    result = command("config", "show", "--config", "proxy.yaml")
    values = yaml.safe_load(result.out)
    assert result.status == 0
    assert (values["server"]["port"], values["targets"]["site"]["mount"]) == (8080, {"host": "", "path": ["/"]})


def test_secrets_are_not_shown(command, configuration):
    """The output has the source of each secret instead of its value."""
    result = command("config", "show", "--config", "proxy.yaml")
    assert "not-to-be-shown" not in result.out
    pair = yaml.safe_load(result.out)["targets"]["site"]["bucket"]["credentials"]
    assert pair["secretKey"] == {"secret": "the environment variable `SECRET`"}


def test_json_and_yaml_show_the_same_values(command, configuration):
    """Both formats have the same content."""
    plain = yaml.safe_load(command("config", "show", "--config", "proxy.yaml").out)
    assert json.loads(command("config", "show", "--config", "proxy.yaml", "--format", "json").out) == plain


def test_an_invalid_configuration_is_not_shown(command):
    """The diagnostics are printed, and the status is 1."""
    Path("proxy.yaml").write_text("nonsense: 1\n")
    result = command("config", "show", "--config", "proxy.yaml")
    assert (result.status, result.out) == (1, "")
    assert "unknown option `nonsense`" in result.err


def test_a_missing_configuration_is_a_failure(command):
    """`config show` without a configuration has status 2."""
    assert command("config", "show", "--config", "nowhere.yaml").status == 2


CONVERTIBLE = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"


@pytest.fixture
def s3_proxy_folder(tmp_path):
    """Creates a directory with a configuration of s3-proxy that converts without differences."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "a.yaml").write_text(CONVERTIBLE)
    return tmp_path / "conf"


def _convert(*words):
    return main(["convert", "s3-proxy", *map(str, words)])


def test_a_complete_conversion_is_clean(s3_proxy_folder, tmp_path, capsys):
    """The command writes configuration and report, and prints the names of both files."""
    assert _convert(s3_proxy_folder, "--out", tmp_path / "out") == ExitStatus.CLEAN
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["report.md", "tornado-proxy.yaml"]
    assert f"wrote {tmp_path / 'out' / 'tornado-proxy.yaml'}\n" in capsys.readouterr().out


def test_a_difference_in_behaviour_is_a_finding(s3_proxy_folder, tmp_path, capsys):
    """The report on standard output has the position of the option."""
    (s3_proxy_folder / "b.yaml").write_text("tracing: {enabled: true}\n")
    assert _convert(s3_proxy_folder, "--out", tmp_path / "out") == ExitStatus.FINDINGS
    assert f"{s3_proxy_folder / 'b.yaml'}:1, `tracing`: " in capsys.readouterr().out


def test_the_report_can_be_printed_as_json(s3_proxy_folder, tmp_path, capsys):
    """`--format json` prints one document."""
    assert _convert(s3_proxy_folder, "--out", tmp_path / "out", "--format", "json") == ExitStatus.CLEAN
    assert json.loads(capsys.readouterr().out)["complete"] is True


def test_files_that_the_service_would_refuse_are_a_finding(s3_proxy_folder, tmp_path, capsys):
    """The last step loads what was written; each mistake is shown with its place in the new file."""
    (s3_proxy_folder / "b.yaml").write_text(
        "server: {ssl: {enabled: true, selfSignedHostnames: [a.test], cipherSuites: [FOO]}}\n"
    )
    assert _convert(s3_proxy_folder, "--out", tmp_path / "out", "--format", "json") == ExitStatus.FINDINGS
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    assert (report["complete"], report["usable"]) == (True, False)
    assert "error[bad-value]: an item of `cipherSuites` cannot be `FOO`" in printed.err
    assert "tornado-proxy.yaml:4:" in printed.err


def test_a_page_that_the_service_would_refuse_is_a_finding(s3_proxy_folder, tmp_path, capsys):
    """Templates are compiled, too."""
    (s3_proxy_folder / "b.yaml").write_text("templates: {folderList: {path: list.tpl}}\n")
    (tmp_path / "list.tpl").write_text("{{ env `HOME` }}")
    assert _convert(s3_proxy_folder, "--out", tmp_path / "out") == ExitStatus.FINDINGS
    printed = capsys.readouterr()
    assert "`serve --check` refuses these files: mend them first.\nwrote " in printed.out
    assert "the function `env` is refused" in printed.err


def test_secrets_and_certificates_may_be_elsewhere(s3_proxy_folder, tmp_path):
    """The machine that converts needs neither the environment nor the certificates of the one that serves."""
    (s3_proxy_folder / "b.yaml").write_text(
        "server: {ssl: {enabled: true, certificates: [{certificateUrl: /nowhere/a.crt, privateKeyUrl: /nowhere/a.key}]}}\n"
        "targets: {site: {bucket: {credentials: {accessKey: {env: NOT_SET}, secretKey: {path: /nowhere/key}}}}}\n"
    )
    assert _convert(s3_proxy_folder, "--out", tmp_path / "out") == ExitStatus.CLEAN


def test_keys_are_read_as_documented_on_request(s3_proxy_folder, tmp_path):
    """With `--keys-as documented` a rule converts without a difference."""
    (s3_proxy_folder / "b.yaml").write_text("targets: {site: {keyRewriteList: [{source: ^/a$, target: /b}]}}\n")
    assert _convert(s3_proxy_folder, "--out", tmp_path / "out") == ExitStatus.FINDINGS
    assert (
        _convert(s3_proxy_folder, "--out", tmp_path / "out", "--keys-as", "documented", "--force") == ExitStatus.CLEAN
    )
    assert 'rewrite `^/a$` -> "/b"' in (tmp_path / "out" / "rules" / "site.rules").read_text()


def test_files_are_replaced_only_with_force(s3_proxy_folder, tmp_path, capsys):
    """A second conversion to the same directory needs `--force`."""
    assert _convert(s3_proxy_folder, "--out", tmp_path) == ExitStatus.CLEAN
    assert _convert(s3_proxy_folder, "--out", tmp_path) == ExitStatus.FAILED
    assert "exists; `--force` replaces it" in capsys.readouterr().err
    assert _convert(s3_proxy_folder, "--out", tmp_path, "--force") == ExitStatus.CLEAN


@pytest.mark.parametrize(
    "text", ["targets: [", CONVERTIBLE.replace("bucket:", "actions: {GET: {enabled: maybe}}, bucket:")]
)
def test_an_invalid_file_is_a_failure(text, s3_proxy_folder, tmp_path, capsys):
    """The mistake is reported, and no file is written."""
    (s3_proxy_folder / "a.yaml").write_text(text)
    assert _convert(s3_proxy_folder, "--out", tmp_path / "out") == ExitStatus.FAILED
    assert "error" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
