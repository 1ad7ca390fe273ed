"""The command `diff`: rules, configurations, places in a Git revision, and what S3 says of new keys."""

import http.client
import json
from pathlib import Path

import pytest
from administering import service
from report_schemas import check_report
from scripted_s3 import error_reply, reply, scripted_s3

OLD = 'target site {\n    rewrite `^/a/(.*)$` -> "/one/$1"\n}\n'
NEW = 'target site {\n    rewrite `^/a/(.*)$` -> "/two/$1"\n}\n'


@pytest.fixture
def diff_command(command):
    """Writes old rules, new rules and a log; returns the words of a command line that compares them."""
    Path("old.rules").write_text(OLD)
    Path("new.rules").write_text(NEW)
    Path("paths").write_text("/a/x?v=1\n/a/x?v=2\n/b\n")
    return ("diff", "old.rules", "new.rules", "--requests", "paths")


def test_a_target_that_is_missing_on_one_side_has_no_rules_there(command, diff_command):
    """A new target changes the keys that its rewrites match."""
    Path("old.rules").write_text("target other {}\n")
    result = command(*diff_command, "--target", "site")
    assert "site: no rewrite → #1 (new.rules:2:5)" in result.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "sit"], "unknown target `sit`; did you mean `site`?"),
        (["--target", "site", "--config", "x"], "not allowed with argument"),
        (["--examples", "some"], "`some` is not a whole number of at least 0"),
        (["--user", "a/b"], "invalid user name `a/b`"),
        (["--config", "nothing.yaml"], "nothing.yaml"),
        (["--requests", "nothing"], "`nothing` cannot be read: No such file or directory"),
        (["--probe"], "`--probe` asks buckets: compare configurations, or give `--config`"),
    ],
)
def test_an_unusable_command_line_of_diff_is_a_failure(command, diff_command, words, message):
    result = command(*diff_command, *words)
    assert (result.status, result.out) == (2, "")
    assert message in result.err


def test_rules_without_targets_cannot_be_compared(command, diff_command):
    """Without targets no request can be answered."""
    Path("old.rules").write_text("")
    Path("new.rules").write_text("")
    assert "the files have no target" in command(*diff_command).err


CONFIGURATION = """
targets:
  site:
    bucket: {name: files, prefix: v1, credentials: {accessKey: {env: NOWHERE}, secretKey: {path: secret}}}
"""
EDITED = CONFIGURATION.replace("v1", "v2")


@pytest.fixture
def two_configurations(command, monkeypatch):
    """Writes two configurations, whose secrets are missing, and a log; returns the words that compare them."""
    Path("old.yaml").write_text(CONFIGURATION)
    Path("new.yaml").write_text(EDITED)
    Path("paths").write_text("/a\n/a\n/b\n")
    return ("diff", "old.yaml", "new.yaml", "--requests", "paths")


def test_an_option_that_changes_no_request_has_status_0(command, two_configurations):
    Path("new.yaml").write_text(f"log: {{level: debug}}\n{CONFIGURATION}")
    result = command(*two_configurations)
    assert result.status == 0
    assert result.out.startswith("no answer changed: 3 requests, 2 distinct\n\nconfiguration: 1 option\n  log.level\n")


@pytest.fixture
def repository(command, commit):
    """Commits a configuration with rules, a helper of templates and a secret, and edits rules and helper."""
    for folder in ("deploy/rules", "shared"):
        Path(folder).mkdir(parents=True)
    text = "rules: [rules, ../shared]\ntemplates: {helpers: [../shared/helper.tpl]}\ntargets: {site: {bucket: {name: b}}}\n"
    Path("deploy/proxy.yaml").write_text(text)
    Path("deploy/rules/site.rules").write_text('target site { rewrite `^/a$` -> "/committed" }\n')
    Path("shared/go.rules").write_text('target site { rewrite `^/b$` -> go `/{{ template "place" }}` }\n')
    Path("shared/helper.tpl").write_text('{{ define "place" }}committed{{ end }}')
    commit()
    Path("deploy/rules/site.rules").write_text('target site { rewrite `^/a$` -> "/edited" }\n')
    Path("shared/helper.tpl").write_text('{{ define "place" }}edited{{ end }}')
    Path("paths").write_text("/a\n/b\n")


@pytest.mark.parametrize("old", ["HEAD:deploy/proxy.yaml", "HEAD:./deploy/proxy.yaml", "HEAD"])
def test_the_files_of_a_configuration_come_from_its_revision(command, repository, old):
    """Rules and helpers, wherever they lie; a revision alone has the place of the other side."""
    result = command("diff", old, "deploy/proxy.yaml", "--requests", "paths")
    assert (result.status, result.err) == (1, "")
    assert "  /a\n  - /committed\n  + /edited\n" in result.out
    assert "  /b\n  - /committed\n  + /edited\n" in result.out
    assert "configuration:" not in result.out


@pytest.mark.parametrize("old", ["HEAD:deploy/lists.rules", "HEAD:./deploy/lists.rules", "HEAD:lists.rules", "HEAD"])
@pytest.mark.parametrize("list_name", ["moved.txt", "../deploy/moved.txt", "../shared/moved.txt"])
def test_the_lists_of_rules_come_from_their_revision(command, repository, commit, old, list_name):
    """Beside the rules, above them, or at the root."""
    new = "lists.rules" if old == "HEAD:lists.rules" else "deploy/lists.rules"
    name = list_name.removeprefix("../") if new == "lists.rules" else list_name
    Path(new).write_text(f'target site {{ redirects "{name}" }}\n')
    lists = [Path(each, "moved.txt") for each in (".", "deploy", "shared")]
    for each in lists:
        each.write_text("/a /committed\n")
    commit()
    for each in lists:
        each.write_text("/a /edited\n")
    result = command("diff", old, new, "--requests", "paths")
    assert (result.status, result.err) == (1, "")
    assert "  /a\n  - (redirect 302 /committed)\n  + (redirect 302 /edited)\n" in result.out
    for each in lists:
        each.unlink()
    assert "cannot be read: No such file or directory" in command("diff", old, new, "--requests", "paths").err


def test_a_configuration_at_the_root_of_a_revision(command, repository, commit):
    """Its relative paths begin there."""
    Path("proxy.yaml").write_text("rules: deploy/rules\ntargets: {site: {bucket: {name: b}}}\n")
    commit()
    Path("deploy/rules/site.rules").unlink()
    result = command("diff", "HEAD~1:deploy/proxy.yaml", "HEAD", "--requests", "paths")
    assert (result.status, result.out.splitlines()[0]) == (1, "answer changed: 2 of 2 requests, 2 of 2 distinct")
    assert command("diff", "HEAD", "proxy.yaml", "--requests", "paths").err.count("has no rule file") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["HEAD:deploy/other.yaml", "deploy/proxy.yaml"], "path 'deploy/other.yaml' does not exist in 'HEAD'"),
        (["other.yaml", "deploy/proxy.yaml"], "`other.yaml` cannot be read: No such file or directory"),
        (["HEAD", "other.yaml"], "`other.yaml` does not exist"),
        (["other", "deploy/proxy.yaml"], "`other` does not exist"),
        (["HEAD:deploy", "deploy/proxy.yaml"], "only one of `HEAD:deploy` and `deploy/proxy.yaml` is a configuration"),
        (["HEAD", "deploy/proxy.yaml", "--target", "site"], "`--target` and `--config` are for rules"),
        (["HEAD:astray.yaml", "deploy/proxy.yaml"], "`../x` is outside of the repository"),
    ],
)
def test_a_configuration_that_cannot_be_compared_is_a_failure(command, repository, commit, words, message):
    """No such revision, not in Git, no file, a mistake in it: the reason is told, and nothing is compared."""
    Path("astray.yaml").write_text("rules: ../x\ntargets: {site: {bucket: {name: b}}}\n")
    commit()
    result = command("diff", *words, "--requests", "paths")
    assert result.out == ""
    assert result.status > 0
    assert message in result.err


def test_a_file_without_any_request_is_no_log(command, two_configurations):
    Path("paths").write_text("one\ntwo\n")
    result = command(*two_configurations)
    assert (result.status, result.out) == (2, "")
    assert "`paths` has no request in 2 lines: it is neither an access log nor a list of paths" in result.err


def _probing(monkeypatch, url):
    monkeypatch.setenv("NOWHERE", "an-access-key")
    Path("secret").write_text("a-secret-key\n")
    at = f'{{name: files, region: eu-west-1, s3Endpoint: "{url}", s3ForcePathStyle: true,'
    Path("new.yaml").write_text(EDITED.replace("{name: files,", at))
    Path("paths").write_text("/a\n/a\n/b\n/c\n/d/\n")


def _answer(request):
    """HeadObject finds one object; GET finds that the bucket exists."""
    if request.startswith("HEAD "):
        return reply(200 if request.startswith("HEAD /files/v2/c ") else 404, ETag='"1"')
    return reply(200, b"<ListBucketResult></ListBucketResult>")


@pytest.fixture
def bucket():
    """A bucket with one object."""
    with scripted_s3(answer=_answer) as s3:
        yield s3


def _asked(bucket):
    """The keys that were asked for."""
    return sorted(line.removeprefix("HEAD ") for line in bucket.request_lines() if line.startswith("HEAD "))


def test_new_keys_are_asked_for(command, two_configurations, monkeypatch, bucket):
    """Each once; a directory needs no object."""
    _probing(monkeypatch, bucket.url)
    result = command(*two_configurations, "--probe")
    assert result.status == 1
    assert result.out.endswith("\nof 3 new keys 2 do not exist\n  site: v2/a (/a, 2 times)\n  site: v2/b (/b)\n")
    assert _asked(bucket) == ["/files/v2/a", "/files/v2/b", "/files/v2/c"]


def test_only_some_new_keys_are_asked_for(command, two_configurations, monkeypatch, bucket):
    """The most requested come first, and of those that are missing some are shown."""
    _probing(monkeypatch, bucket.url)
    result = command(*two_configurations, "--probe", "--most-keys", "1", "--examples", "0")
    assert result.out.endswith("of 3 new keys, the 1 most requested were asked for: 1 does not exist\n  and 1 more\n")
    assert _asked(bucket) == ["/files/v2/a"]


def test_a_refusal_of_s3_is_not_a_missing_object(command, two_configurations, monkeypatch):
    """The report says why it is not known, also to programs."""
    with scripted_s3(*[error_reply(403, "AccessDenied")] * 3) as s3:
        _probing(monkeypatch, s3.url)
        result = command(*two_configurations, "--probe", "--format", "json")
    report = json.loads(result.out)
    check_report(report, "diff")
    ((problem, count),) = [(each["problem"], each["keys"]) for each in report["new_keys"]["unknown"]]
    assert (count, report["new_keys"]["missing"]) == (3, [])
    assert problem == "`s3:GetObject` is not permitted, which S3 also says of missing keys without `s3:ListBucket`"


def test_an_s3_that_cannot_be_reached_is_asked_once(command, two_configurations, monkeypatch, closed_port):
    """All its keys are unknown for that reason, and the status tells that the command could not do its work."""
    _probing(monkeypatch, f"http://127.0.0.1:{closed_port}")
    result = command(*two_configurations, "--probe")
    assert result.status == 2
    assert "of 3 new keys 0 do not exist, 3 are unknown\nsite: 3 unknown keys: " in result.out


def test_a_probe_needs_the_credentials_of_the_buckets(command, two_configurations):
    result = command(*two_configurations, "--probe")
    assert (result.status, result.out) == (2, "")
    reason = "the environment variable `NOWHERE` is not set"
    assert result.err.endswith(f"`--probe` needs the credentials of target `site`: {reason}\n")


def test_rules_see_the_helpers_of_the_configuration(command, diff_command):
    """As they do in the service."""
    Path("helper.tpl").write_text('{{ define "place" }}two{{ end }}')
    Path("new.rules").write_text('target site { rewrite `^/a/x$` -> go `/{{ template "place" }}` }\n')
    Path("proxy.yaml").write_text("templates: {helpers: [helper.tpl]}\ntargets: {site: {bucket: {name: b}}}\n")
    assert "  - /one/x\n  + /two\n" in command(*diff_command, "--config", "proxy.yaml").out


@pytest.fixture
def live(command, tmp_path):
    """Runs a service that was asked for three paths, and a function that compares edited rules by its requests."""
    with service(tmp_path / "service") as (proxy, admin):
        connection = http.client.HTTPConnection(proxy.url.removeprefix("http://"))
        for path in ("/one", "/one", "/two", "/a%20b"):
            connection.request("GET", path)
            connection.getresponse().read()
        connection.close()
        in_force = tmp_path / "service" / "proxy.yaml"

        def run(rules, *words):
            Path("rules").mkdir(exist_ok=True)
            Path("rules/site.rules").write_text(f"target site {{ {rules} }}\n")
            Path("proxy.yaml").write_text(in_force.read_text())
            return command("diff", in_force, "proxy.yaml", "--live", "--admin", admin.url, *words)

        yield run


FIRST = r'rewrite `^/(?P<name>[a-z]+)$` -> "/first/$name.txt"'


def test_the_last_requests_of_a_service_are_decided_by_an_edit(live):
    """What would change, how often it was requested, and that nothing changes without an edit."""
    result = live(FIRST.replace("/first/$name", "/second/$name"))
    assert (result.status, result.err) == (1, "")
    assert result.out.startswith("answer changed: 3 of 4 requests, 2 of 3 distinct\n")
    assert "  /one (2 times)\n  - /first/one.txt\n  + /second/one.txt\n" in result.out
    assert live(FIRST).out == "no answer changed: 4 requests, 3 distinct\n"


def test_a_script_fails_only_where_a_request_would_be_refused(live):
    """An intended change is no failure."""
    assert live(FIRST.replace("/first/$name", "/second/$name"), "--fail-on", "failures").status == 0
    refused = live(FIRST.replace("/first/$name", "/../$name"), "--fail-on", "failures")
    assert refused.status == 1
    assert refused.out.splitlines()[1] == "3 requests would be refused that are answered now"


def test_what_a_service_does_not_keep_is_said(live):
    """The query may decide."""
    report = live(r'rewrite `^/(?P<name>[a-z]+)$` -> jinja "/{{ request.query.v or groups.name }}"', "--format", "json")
    document = json.loads(report.out)
    check_report(document, "diff")
    assert (document["not_known"], document["changed"]["total"], report.status) == (3, 0, 2)


def test_a_service_that_cannot_be_reached_is_a_failure(command, tmp_path):
    for name in ("old.rules", "new.rules"):
        Path(name).write_text("target site {}\n")
    result = command("diff", "old.rules", "new.rules", "--live", "--admin", f"unix:{tmp_path}/nothing")
    assert (result.status, result.out) == (2, "")
    assert "cannot be reached: No such file or directory" in result.err
