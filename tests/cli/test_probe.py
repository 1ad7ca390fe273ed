"""`tornado-proxy probe` and `serve --check --probe`, against an S3 in the process."""

import json
import socket
from pathlib import Path

import pytest
from jsonschema import validate
from scripted_s3 import an_error, reply, scripted_s3

CONFIGURATION = """
rules: [rules]
targets:
  site:
    mount: {{path: [/]}}
    bucket: {{name: my-bucket, region: eu-west-1, s3Endpoint: "{}", s3ForcePathStyle: true,
              credentials: {{accessKey: {{env: PAIR}}, secretKey: {{env: PAIR}}}}}}
"""
EMPTY = reply(200, b"<ListBucketResult></ListBucketResult>")
MISSING = reply(404)
SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "probe.json"


@pytest.fixture
def configure(command, tmp_path, monkeypatch):
    """Writes a configuration for an S3 at an address."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "site.rules").write_text('target site { rewrite `^/a$` -> "/b" }\n')
    monkeypatch.setenv("PAIR", "a-pair-of-keys")
    return lambda url: (tmp_path / "proxy.yaml").write_text(CONFIGURATION.format(url))


@pytest.fixture
def nowhere():
    """The address of a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


def test_a_bucket_that_can_be_used(command, configure):
    """One line, with the permissions that were found; status 0."""
    with scripted_s3(EMPTY, MISSING, EMPTY) as s3:
        configure(s3.url)
        done = command("probe", "--config", "proxy.yaml")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("OK      site  my-bucket  s3:ListBucket, s3:GetObject (")


def test_a_bucket_that_cannot_be_used(command, configure):
    """The output has the reason and the help, but no secret key; the status is 1."""
    with scripted_s3(an_error(403, "AccessDenied")) as s3:
        configure(s3.url)
        done = command("probe", "--config", "proxy.yaml")
    assert done.status == 1
    assert done.out.splitlines()[0] == "FAILED  site  my-bucket  `s3:ListBucket` is not permitted"
    assert done.out.splitlines()[1].strip() == "help: grant `s3:ListBucket` on `arn:aws:s3:::my-bucket`"
    assert "a-pair-of-keys" not in done.out + done.err


def test_programs_read_json(command, configure, nowhere):
    """The same, with a code; docs/schemas/probe.json describes it."""
    configure(nowhere)
    done = command("probe", "--config", "proxy.yaml", "--format", "json")
    shown = json.loads(done.out)
    validate(shown, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert (done.status, shown["targets"][0]["problem"]["code"]) == (1, "unreachable")


def test_a_frozen_bucket_costs_the_timeout(command, configure):
    """A probe of an S3 that accepts connections and never answers ends after the time-out."""
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        configure(f"http://127.0.0.1:{frozen.getsockname()[1]}")
        done = command("probe", "--config", "proxy.yaml", "--timeout", "0.3")
    assert done.status == 1
    assert "FAILED  site  my-bucket  S3 " in done.out


@pytest.mark.parametrize("seconds", ["0", "-1", "soon", "nan", "3601"])
def test_a_timeout_is_a_number_of_seconds(command, configure, nowhere, seconds):
    """Anything else is a mistake of the command line."""
    configure(nowhere)
    assert command("probe", "--config", "proxy.yaml", "--timeout", seconds).status == 2


def test_an_unknown_target_is_a_mistake(command, configure, nowhere):
    """Nothing was probed: status 2, and what was probably meant."""
    configure(nowhere)
    done = command("probe", "--config", "proxy.yaml", "sight")
    assert (done.status, done.err) == (2, "tornado-proxy probe: unknown target `sight`; did you mean `site`?\n")


def test_a_configuration_with_a_mistake_is_not_probed(command, configure, nowhere):
    """The diagnostics are shown; status 1."""
    configure(f'{nowhere}", nonsense: "')
    done = command("probe", "--config", "proxy.yaml")
    assert (done.status, done.out) == (1, "")
    assert "unknown" in done.err


def test_a_configuration_that_is_not_there_is_a_failure(command):
    """Status 2."""
    done = command("probe", "--config", "nowhere.yaml")
    assert (done.status, done.err) == (2, "tornado-proxy probe: there is no file `nowhere.yaml`\n")


def test_credentials_of_the_service_alone_cannot_be_probed_with(command, configure, nowhere, tmp_path, monkeypatch):
    """A root shell has no systemd credentials; the help describes how to run the probe."""
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    configure(nowhere)
    path = tmp_path / "proxy.yaml"
    path.write_text(path.read_text().replace("{env: PAIR}", "{credential: s3}"))
    done = command("probe", "--config", "proxy.yaml")
    assert done.status == 1
    assert "the credentials are systemd credentials, which only the service has" in done.out


def test_check_can_probe(command, configure, nowhere):
    """`serve --check --probe` says that the files are good, and that the bucket is not."""
    configure(nowhere)
    done = command("serve", "--check", "--probe", "--config", "proxy.yaml")
    first, second, _ = done.out.splitlines()
    assert (done.status, first) == (1, "OK: `proxy.yaml` can be used: 1 target, 1 rewrite in 1 file")
    assert second.startswith("FAILED  site  my-bucket  no connection to 127.0.0.1:")


def test_probe_goes_with_check(command, configure, nowhere):
    """Without `--check` it would promise what the service does by itself."""
    configure(nowhere)
    done = command("serve", "--probe", "--config", "proxy.yaml")
    assert done.status == 2
    assert "`--probe` goes with `--check`" in done.err
