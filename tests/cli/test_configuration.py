"""Tests `tornado-proxy config show` and `convert`."""

import json
import socket
from pathlib import Path

import pytest
import yaml
from report_schemas import check_report
from scripted_s3 import error_reply, reply, scripted_s3

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


def test_secrets_are_not_shown(command, configuration):
    result = command("config", "show", "--config", "proxy.yaml")
    assert "not-to-be-shown" not in result.out
    pair = yaml.safe_load(result.out)["targets"]["site"]["bucket"]["credentials"]
    assert pair["secretKey"] == {"secret": "the environment variable `SECRET`"}


def test_json_and_yaml_show_the_same_values(command, configuration):
    plain = yaml.safe_load(command("config", "show", "--config", "proxy.yaml").out)
    assert json.loads(command("config", "show", "--config", "proxy.yaml", "--format", "json").out) == plain


@pytest.mark.parametrize("words", [["config", "show"], ["probe"], ["reload"]], ids=" ".join)
def test_a_command_needs_a_valid_configuration(command, words):
    Path("proxy.yaml").write_text("nonsense: 1\n")
    invalid, missing = (command(*words, "--config", name) for name in ("proxy.yaml", "nowhere.yaml"))
    assert (invalid.status, invalid.out, missing.status) == (1, "", 2)
    assert "unknown option `nonsense`" in invalid.err
    assert "`nowhere.yaml` cannot be read: No such file or directory" in missing.err


CONVERTIBLE = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"


@pytest.fixture
def s3_proxy_folder(tmp_path):
    """Creates a directory with a configuration of s3-proxy that converts without differences."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "a.yaml").write_text(CONVERTIBLE)
    return tmp_path / "conf"


def _convert(*words):
    return main(["convert", "s3-proxy", *map(str, words)])


def test_the_report_can_be_printed_as_json(s3_proxy_folder, tmp_path, capsys):
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
    (s3_proxy_folder / "b.yaml").write_text("targets: {site: {keyRewriteList: [{source: ^/a$, target: /b}]}}\n")
    assert _convert(s3_proxy_folder, "--out", tmp_path / "out") == ExitStatus.FINDINGS
    assert (
        _convert(s3_proxy_folder, "--out", tmp_path / "out", "--keys-as", "documented", "--force") == ExitStatus.CLEAN
    )
    assert 'rewrite `^/a$` -> "/b"' in (tmp_path / "out" / "rules" / "site.rules").read_text()


def test_files_are_replaced_only_with_force(s3_proxy_folder, tmp_path, capsys):
    assert _convert(s3_proxy_folder, "--out", tmp_path) == ExitStatus.CLEAN
    assert _convert(s3_proxy_folder, "--out", tmp_path) == ExitStatus.FAILED
    assert "exists; `--force` replaces it" in capsys.readouterr().err
    assert _convert(s3_proxy_folder, "--out", tmp_path, "--force") == ExitStatus.CLEAN


def test_redirects_of_another_server_are_printed_as_rules(tmp_path, capsys):
    """Without `--out` the rules are standard output, and what each line became is on standard error."""
    (tmp_path / "_redirects").write_text("/a /b\n/c id=:id /d\n")
    assert main(["convert", "redirects", str(tmp_path / "_redirects")]) == ExitStatus.FINDINGS
    printed = capsys.readouterr()
    assert printed.out.startswith("target site {\n    redirect if missing 301 `^/a$`")
    assert "_redirects:2, `/c id=:id /d`: it has a condition, `id=:id`\n" in printed.err


def test_redirects_are_written_beside_their_lists(tmp_path, capsys):
    """The directory can be used as it is; nothing in it is replaced without `--force`."""
    (tmp_path / "_redirects").write_text("".join(f"/{number} /x\n" for number in range(20)))
    words = ["convert", "redirects", str(tmp_path / "_redirects"), "--from", "cloudflare", "--target", "Old site"]
    assert main([*words, "--out", str(tmp_path / "new")]) == ExitStatus.CLEAN
    expected = ["old_site-moved.txt", "old_site.rules", "report.md"]
    assert sorted(each.name for each in (tmp_path / "new").iterdir()) == expected
    assert main(["test", str(tmp_path / "new")]) == ExitStatus.CLEAN
    assert main([*words, "--out", str(tmp_path / "new")]) == ExitStatus.FAILED
    capsys.readouterr()
    assert main([*words, "--out", str(tmp_path / "new"), "--force", "--format", "json"]) == ExitStatus.CLEAN
    assert len(json.loads(capsys.readouterr().out)["remarks"]) == 20


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["s3-proxy", "conf", "--out", "new", "--from", "nginx"], "`--from` has no meaning for `convert s3-proxy`"),
        (["redirects", "file", "--keys-as", "actual"], "`--keys-as` has no meaning for `convert redirects`"),
        (["s3-proxy", "conf"], "`--out DIR` is missing"),
        (["redirects", "file", "--format", "json"], "`--out DIR` is missing"),
        (["redirects", "/nowhere"], "`/nowhere` cannot be read"),
    ],
)
def test_a_conversion_needs_what_it_is_of(words, message, capsys):
    assert main(["convert", *words]) == ExitStatus.FAILED
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["targets: [", CONVERTIBLE.replace("bucket:", "actions: {GET: {enabled: maybe}}, bucket:")]
)
def test_an_invalid_file_is_a_failure(text, s3_proxy_folder, tmp_path, capsys):
    (s3_proxy_folder / "a.yaml").write_text(text)
    assert _convert(s3_proxy_folder, "--out", tmp_path / "out") == ExitStatus.FAILED
    assert "error" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


PROBED = """
rules: [rules]
targets:
  site:
    mount: {{path: [/]}}
    bucket: {{name: my-bucket, region: eu-west-1, s3Endpoint: "{}", s3ForcePathStyle: true,
              credentials: {{accessKey: {{env: PAIR}}, secretKey: {{env: PAIR}}}}}}
"""
EMPTY = reply(200, b"<ListBucketResult></ListBucketResult>")
MISSING = reply(404)


@pytest.fixture
def configure(command, tmp_path, monkeypatch):
    """Returns a function that writes a configuration for an S3 at a URL."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "site.rules").write_text('target site { rewrite `^/a$` -> "/b" }\n')
    monkeypatch.setenv("PAIR", "a-pair-of-keys")
    return lambda url: (tmp_path / "proxy.yaml").write_text(PROBED.format(url))


@pytest.fixture
def closed_url(closed_port):
    """Returns the URL of an S3 that refuses connections."""
    return f"http://127.0.0.1:{closed_port}"


def test_a_usable_bucket_is_reported(command, configure):
    with scripted_s3(EMPTY, MISSING, EMPTY) as s3:
        configure(s3.url)
        result = command("probe", "--config", "proxy.yaml")
    assert (result.status, result.err) == (0, "")
    assert result.out.startswith("OK      site  my-bucket  s3:ListBucket, s3:GetObject (")


def test_an_unusable_bucket_is_reported_with_help(command, configure):
    with scripted_s3(error_reply(403, "AccessDenied")) as s3:
        configure(s3.url)
        result = command("probe", "--config", "proxy.yaml")
    assert result.status == 1
    assert result.out.splitlines()[0] == "FAILED  site  my-bucket  `s3:ListBucket` is not permitted"
    assert result.out.splitlines()[1].strip() == "help: grant `s3:ListBucket` on `arn:aws:s3:::my-bucket`"
    assert "a-pair-of-keys" not in result.out + result.err


def test_the_json_report_obeys_its_schema(command, configure, closed_url):
    configure(closed_url)
    result = command("probe", "--config", "proxy.yaml", "--format", "json")
    report = json.loads(result.out)
    check_report(report, "probe")
    assert (result.status, report["targets"][0]["problem"]["code"]) == (1, "unreachable")


def test_a_probe_without_an_answer_ends_after_the_timeout(command, configure):
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        configure(f"http://127.0.0.1:{frozen.getsockname()[1]}")
        result = command("probe", "--config", "proxy.yaml", "--timeout", "0.3")
    assert result.status == 1
    assert "FAILED  site  my-bucket  S3 " in result.out


@pytest.mark.parametrize("seconds", ["0", "-1", "soon", "nan", "3601"])
def test_an_invalid_timeout_is_a_usage_error(command, configure, closed_url, seconds):
    """A time-out is a number above 0 and at most an hour."""
    configure(closed_url)
    assert command("probe", "--config", "proxy.yaml", "--timeout", seconds).status == 2


def test_an_unknown_target_is_a_failure(command, configure, closed_url):
    configure(closed_url)
    result = command("probe", "--config", "proxy.yaml", "sight")
    assert (result.status, result.err) == (2, "tornado-proxy probe: unknown target `sight`; did you mean `site`?\n")


def test_systemd_credentials_cannot_be_used_from_a_shell(command, configure, closed_url, tmp_path, monkeypatch):
    """A root shell has no systemd credentials, so the help describes how to run the probe."""
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    configure(closed_url)
    path = tmp_path / "proxy.yaml"
    path.write_text(path.read_text().replace("{env: PAIR}", "{credential: s3}"))
    result = command("probe", "--config", "proxy.yaml")
    assert result.status == 1
    assert "the credentials are systemd credentials, which only the service has" in result.out


def test_check_with_probe_reports_files_and_buckets(command, configure, closed_url):
    configure(closed_url)
    result = command("serve", "--check", "--probe", "--config", "proxy.yaml")
    first, second, _ = result.out.splitlines()
    assert (result.status, first) == (1, "OK: `proxy.yaml` can be used: 1 target, 1 rewrite in 1 file")
    assert second.startswith("FAILED  site  my-bucket  no connection to 127.0.0.1:")


def test_probe_without_check_is_a_failure(command, configure, closed_url):
    """`serve --probe` is a usage error, since a service doesn't probe when it starts."""
    configure(closed_url)
    result = command("serve", "--probe", "--config", "proxy.yaml")
    assert result.status == 2
    assert "`--probe` goes with `--check`" in result.err
