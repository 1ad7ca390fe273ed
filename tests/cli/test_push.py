"""Tests `tornado-proxy push` against an S3, and what a service reads of a push that is torn."""

from __future__ import annotations

import itertools

import pytest
import real_s3
from botocore.exceptions import EndpointConnectionError

from tornado_proxy.cli import push
from tornado_proxy.config.model import RulesBucket, Settings
from tornado_proxy.rules.loading import RuleFile
from tornado_proxy.rules.releases import Pointer, Release
from tornado_proxy.s3.releases import ReleaseBucket
from tornado_proxy.service.reload.rule_sources import RuleSources
from tornado_proxy.storage.errors import UpstreamError

FIRST = 'target site {\n    rewrite `^/a$` -> "/first"\n\n    test "/a" -> "/first"\n}\n'
SECOND = FIRST.replace("first", "second")
CALLS = 7  # of a push: read the pointer and its release, write the new one, read it back, try two conditions, move
_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def s3():
    """A running S3."""
    with real_s3.moto() as endpoint:
        yield endpoint


@pytest.fixture
def place(s3, monkeypatch):
    """A place in a new bucket, which the environment can reach."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    name = f"pushed-{next(_NUMBERS)}"
    s3.client.create_bucket(Bucket=name)
    return f"s3://{name}/rules/"


@pytest.fixture
def write(tmp_path):
    """A function that writes a rule file."""
    (tmp_path / "rules").mkdir()

    def write(text: str, name: str = "site") -> None:
        (tmp_path / "rules" / f"{name}.rules").write_text(text)

    return write


@pytest.fixture
def pushed(s3, place, write):
    """The digest of a release that is in force at the place; its file is in the directory."""
    write(FIRST)
    release = Release.of([RuleFile("site.rules", FIRST.encode())])
    pointer = Pointer().pushed(release.digest, "2026-01-01T00:00:00Z", "ann")
    bucket, _, prefix = place.removeprefix("s3://").partition("/")
    for key, data in ((f"releases/{release.digest}.json", release.data), ("current.json", pointer.data)):
        s3.client.put_object(Bucket=bucket, Key=prefix + key, Body=data)
    return release.digest


def in_force(place: str) -> tuple[str, list[tuple[str, str]]]:
    """The digest of the release in force and its files, as a service reads them."""
    read = RuleSources().read(Settings(rules=(RulesBucket(place),)))
    return dict(read.releases)[place], [(file.name.removeprefix(place), file.data.decode()) for file in read.files]


def test_a_push_lints_tests_and_puts_the_rules_in_force(command, place, write):
    """What services read is what was pushed, under its digest; the difference is shown before."""
    write(FIRST)
    result = command("push", "rules", place)
    assert (result.status, result.err) == (0, "")
    digest, files = in_force(place)
    assert files == [("site.rules", FIRST)]
    assert "--- site.rules\n+++ site.rules\n@@ -0,0 +1,5 @@\n+target site {\n" in result.out
    assert "\n1 passed\n" in result.out
    assert result.out.endswith(f"\npushed {digest}: 1 file\n")


def test_rules_that_are_in_force_are_not_pushed_again(command, place, pushed):
    """The command says who put them in force."""
    result = command("push", "rules", place)
    assert result.status == 0
    assert f"nothing to do: ann put {pushed[:12]} in force at 2026-01-01T00:00:00Z\n" in result.out
    assert command("push", "rules", place, "--quiet").out == f"{pushed}\n"
    assert len(command("push", place, "--history").out.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (FIRST.replace("^/a$", "^/("), "unclosed group"),
        (FIRST.replace("^/a$", "^/a.html$"), "unescaped-dot"),
        (FIRST.replace('"/a" -> "/first"', '"/a" -> "/other"'), "failing-test"),
    ],
    ids=["mistake", "finding", "test"],
)
def test_bad_rules_are_refused(command, place, write, pushed, text, finding):
    """The finding is shown, and nothing is written, as the last line says."""
    write(text)
    result = command("push", "rules", place)
    assert result.status == 1
    assert result.err.endswith("tornado-proxy push: nothing was pushed\n")
    assert finding in result.out + result.err
    assert in_force(place) == (pushed, [("site.rules", FIRST)])


def test_a_configuration_allows_more_checks_and_has_the_address(command, place, write, s3, tmp_path, monkeypatch):
    """A target that it does not have is a finding."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    targets = "targets: {other: {mount: {path: [/]}, bucket: {name: some-bucket}}}"
    address = f"rules: [{{s3: {place}, s3Endpoint: '{s3.url}', s3ForcePathStyle: true}}]"
    (tmp_path / "proxy.yaml").write_text(f"{address}\n{targets}\n")
    write(FIRST)
    refused = command("push", "rules", place, "--config", "proxy.yaml")
    assert (refused.status, "unknown-target" in refused.out) == (1, True)
    write(FIRST.replace("site", "other"))
    assert command("push", "rules", place, "--config", "proxy.yaml").status == 0


def test_a_dry_run_writes_nothing(command, place, write, pushed, tmp_path):
    """It shows what would change: of the files, and of the keys of a log's requests."""
    write(SECOND)
    write("target more {}\n", "more")
    (tmp_path / "log").write_text("/a\n/b\n")
    result = command("push", "rules", place, "--dry-run", "--requests", "log", "--target", "site")
    assert result.status == 0, result.err
    assert '-    rewrite `^/a$` -> "/first"\n+    rewrite `^/a$` -> "/second"\n' in result.out
    assert "--- more.rules\n" in result.out
    assert "key changed: 1 of 2 requests" in result.out
    assert in_force(place)[0] == pushed


def test_diff_compares_with_what_is_in_force(command, place, write, pushed, tmp_path):
    """A place in a bucket is read like a directory."""
    write(SECOND)
    (tmp_path / "log").write_text("/a\n")
    result = command("diff", place, "rules", "--requests", "log")
    assert (result.status, "- /first\n" in result.out, "+ /second\n" in result.out) == (1, True, True)
    nowhere = command("diff", f"{place}none/", "rules", "--requests", "log")
    assert (nowhere.status, nowhere.err) == (2, f"tornado-proxy diff: nothing was pushed to `{place}none/`\n")
    assert command("diff", "s3://", "rules", "--requests", "log").err == (
        "tornado-proxy diff: `s3://` is not a place in a bucket (such as `s3://my-bucket/rules/`)\n"
    )


def test_a_rollback_returns_to_the_release_before(command, place, write, pushed):
    """A further one goes on; the history has all moves, the newest first."""
    write(SECOND)
    second = command("push", "rules", place, "--quiet", "--by", "ben", "--note", "the  second").out.strip()
    result = command("push", place, "--rollback", "--by", "cleo")
    assert (result.status, result.out) == (0, f"rolled back to {pushed}: 1 file\n")
    assert in_force(place)[0] == pushed
    further = command("push", place, "--rollback")
    message = "tornado-proxy push: there is no release before the one in force\n"
    assert (further.status, further.err) == (2, message)
    forward = command("push", place, "--rollback", "--to", second[:8], "--quiet", "--by", "cleo")
    assert forward.out == f"{second}\n"
    same = command("push", place, "--rollback", "--to", second)
    assert f"nothing to do: cleo put {second[:12]}" in same.out
    moves = [line.split("  ", 2) for line in command("push", place, "--history").out.splitlines()]
    assert [(digest, name) for digest, _, name in moves] == [
        (second[:12], "cleo"),
        (pushed[:12], "cleo"),
        (second[:12], "ben  the second"),
        (pushed[:12], "ann"),
    ]


def test_before_the_first_push_there_is_no_history(command, place):
    """Nor anything to roll back to."""
    assert command("push", place, "--history").out == "nothing was pushed\n"
    assert command("push", place, "--rollback").status == 2


class _Torn(ReleaseBucket):
    """A bucket whose call with a number fails: before S3 hears of it, or after it has answered."""

    when, call, error = "before", 0, EndpointConnectionError(endpoint_url="s3")

    def __init__(self, place: RulesBucket) -> None:
        super().__init__(place, attempts=1)
        calls = itertools.count(1)
        self._client.meta.events.register(f"{self.when}-call.s3", lambda **_: self._fail(next(calls)))

    def _fail(self, number: int) -> None:
        if number == self.call:
            raise self.error


def _tears():
    """Each call, before and after, failing and killed; many, so that all but the different ones are for `integration`."""
    for when, call in itertools.product(("before", "after"), range(1, CALLS + 1)):
        for name, error in (("failed", _Torn.error), ("killed", KeyboardInterrupt())):
            is_like_others = name == "killed" or (when, call) in itertools.product(["after"], range(1, CALLS))
            marks = [pytest.mark.integration] if is_like_others else []
            yield pytest.param(call, when, error, id=f"{name} {when} {call}", marks=marks)


@pytest.mark.parametrize(("call", "when", "error"), [*_tears()])
def test_a_push_that_is_torn_changes_nothing(call, when, error, command, place, write, pushed, monkeypatch):
    """Services read the old release, whichever call was the last; the next push succeeds.

    Only where the pointer was moved and the answer was lost, they read the new one; then the command finds out, unless
    it was killed.
    """
    torn = type("Torn", (_Torn,), {"call": call, "when": when, "error": error})
    monkeypatch.setattr(push, "ReleaseBucket", torn)
    write(SECOND)
    status = command("push", "rules", place).status
    is_moved = (call, when) == (CALLS, "after")
    assert status == (0 if is_moved and error is _Torn.error else 2)
    assert in_force(place)[1] == [("site.rules", SECOND if is_moved else FIRST)]
    monkeypatch.undo()


def test_all_calls_of_a_push_are_torn(command, place, write, pushed, monkeypatch):
    """The test above tears each call that a push makes."""
    monkeypatch.setattr(push, "ReleaseBucket", type("Whole", (_Torn,), {"call": CALLS + 1}))
    write(SECOND)
    assert command("push", "rules", place).status == 0
    monkeypatch.setattr(push, "ReleaseBucket", type("Last", (_Torn,), {"call": CALLS}))
    write(FIRST)
    assert command("push", "rules", place).status == 2


class _Overtaken(ReleaseBucket):
    """A bucket in which somebody else moves the pointer just before this one."""

    def move(self, pointer: Pointer, etag: str, *, conditional: bool = True) -> None:
        """Moves the pointer after another move."""
        now, tag = super().read_pointer()
        super().move(now.pushed(now.moves[0].digest, "2026-01-01T00:00:00Z", "ben@ci", "a fix"), tag)
        super().move(pointer, etag, conditional=conditional)


def test_of_two_pushes_at_once_the_slower_one_is_told(command, place, write, pushed, monkeypatch):
    """It says who was faster, with what and when, and the faster one stays."""
    monkeypatch.setattr(push, "ReleaseBucket", _Overtaken)
    write(SECOND)
    result = command("push", "rules", place)
    assert (result.status, result.err) == (
        1,
        (
            "tornado-proxy push: somebody else was faster: "
            f"ben@ci put {pushed[:12]} in force at 2026-01-01T00:00:00Z (a fix)\n"
            "tornado-proxy push: look at it, then push again\n"
        ),
    )
    assert in_force(place)[0] == pushed


class _Careless(ReleaseBucket):
    """A bucket in an S3 that ignores conditions."""

    def __init__(self, place: RulesBucket) -> None:
        super().__init__(place)
        for name in ("If-Match", "If-None-Match"):
            self._client.meta.events.register(
                "before-call.s3.PutObject", lambda params, name=name, **_: params["headers"].pop(name, None) and None
            )


def test_an_s3_that_ignores_conditions_is_named(command, place, write, pushed, monkeypatch):
    """The push is done, and read back, without a claim that nothing can go wrong."""
    monkeypatch.setattr(push, "ReleaseBucket", _Careless)
    write(SECOND)
    result = command("push", "rules", place)
    assert (result.status, result.err) == (0, f"{place} ignores If-Match: of two pushes at once, the later one wins\n")
    assert in_force(place)[1] == [("site.rules", SECOND)]


class _Lost(ReleaseBucket):
    """A bucket that fails when the pointer moves, and from there on."""

    has_failed = False

    def move(self, *_: object, **__: object) -> None:
        """Fails."""
        self.has_failed = True
        raise UpstreamError("500 InternalError")

    def read_pointer(self, etag: str = "") -> tuple[Pointer, str]:
        """Fails as well, after that."""
        if self.has_failed:
            raise UpstreamError("503 SlowDown")
        return super().read_pointer(etag)


def test_what_is_not_known_is_not_claimed(command, place, write, pushed, monkeypatch):
    """Where neither the move nor the look at it succeeds, the command says so."""
    monkeypatch.setattr(push, "ReleaseBucket", _Lost)
    write(SECOND)
    result = command("push", "rules", place)
    message = "tornado-proxy push: whether the pointer was moved is not known: 500 InternalError\n"
    assert (result.status, result.err) == (2, message)


def test_a_push_repairs_a_release_that_is_gone(command, place, write, pushed, s3):
    """Services keep the old rules meanwhile; the same files are pushed again."""
    bucket, _, prefix = place.removeprefix("s3://").partition("/")
    s3.client.delete_object(Bucket=bucket, Key=f"{prefix}releases/{pushed}.json")
    result = command("push", "rules", place, "--quiet")
    assert (result.status, result.out) == (0, f"{pushed}\n")
    assert "what is in force is damaged: " in result.err
    assert in_force(place)[0] == pushed


def test_files_that_change_meanwhile_are_not_pushed(command, place, write, pushed, monkeypatch):
    """What is pushed is what was checked."""
    write(SECOND)
    monkeypatch.setattr(push, "run_test", lambda _: write(FIRST))
    result = command("push", "rules", place)
    assert (result.status, "the files changed while they were checked" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("s3://b/",), "give a PATH, or `--rollback` or `--history` without one"),
        (("rules", "s3://b/", "--rollback"), "give a PATH, or `--rollback` or `--history` without one"),
        (("rules", "s3://b/", "--to", "abc"), "`--to` goes with `--rollback`"),
        (("rules", "bucket"), "argument S3URL: `bucket` is not a place in a bucket (such as `s3://my-bucket/rules/`)"),
        (
            ("rules", "s3://b/", "--endpoint", "ftp://a"),
            "argument --endpoint: `ftp://a` is not the URL of an S3 server",
        ),
        (("rules", "s3://b/"), "there is no `rules`"),
    ],
)
def test_a_command_line_that_cannot_be(command, words, message):
    """It is a usage error, or names what is missing."""
    result = command("push", *words)
    assert (result.status, message in result.err) == (2, True)


def test_a_bucket_that_does_not_exist_is_a_failure(command, place, write):
    """The error names the place."""
    write(FIRST)
    result = command("push", "rules", "s3://nowhere/")
    assert (result.status, "`s3://nowhere/current.json`: 404 NoSuchBucket" in result.err) == (2, True)
