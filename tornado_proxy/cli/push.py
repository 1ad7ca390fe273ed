"""The command that puts rules into a bucket, from which services fetch them, and takes them back."""

from __future__ import annotations

import argparse
import getpass
import socket
import sys
from collections.abc import Iterator
from contextlib import closing, redirect_stdout, suppress
from datetime import UTC, datetime
from pathlib import Path

from tornado_proxy.cli.arguments import add_file, add_flag, file_path, valid
from tornado_proxy.cli.diff import compare_rules
from tornado_proxy.cli.inputs import load_settings
from tornado_proxy.cli.lint import lint_arguments, run_lint
from tornado_proxy.cli.output import CommandError, ExitStatus, activity, print_diff
from tornado_proxy.cli.requests import add_log_arguments, add_request_arguments
from tornado_proxy.cli.rules import run_test, test_arguments
from tornado_proxy.config import values
from tornado_proxy.config.model import RulesBucket
from tornado_proxy.rules.diagnostic import counted
from tornado_proxy.rules.excerpt import visible
from tornado_proxy.rules.loading import Read, RuleFile, read_rule_files
from tornado_proxy.rules.releases import Pointer, PointerMove, Release, UnusableRelease
from tornado_proxy.s3.releases import UNUSABLE, ReleaseBucket
from tornado_proxy.storage.errors import ObjectMissing, StorageError
from tornado_proxy.tools.diff import to_text
from tornado_proxy.tools.files import difference

_SHORT = 12  # digits of a digest, for people


def push_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("rules", nargs="?", type=file_path, metavar="PATH", help="a rule file, or a directory of them")
    parser.add_argument("place", type=valid(values.rules_url), metavar="S3URL", help="where to: `s3://BUCKET/PREFIX/`")
    instead = parser.add_mutually_exclusive_group()
    add_flag(instead, "--dry-run", "write nothing; check, and show what would change")
    add_flag(instead, "--history", "show who put what in force, the newest first")
    add_flag(instead, "--rollback", "put the release in force that was there before, or that of `--to`")
    parser.add_argument("--to", default="", metavar="DIGEST", help="with `--rollback`: the start of its digest")
    parser.add_argument("--by", default="", metavar="NAME", help="who pushes (default: the user and the machine)")
    parser.add_argument("--note", default="", metavar="TEXT", help="what the history says about it")
    add_flag(parser, "--quiet", "print the digest alone; findings go to standard error")
    bucket = parser.add_argument_group("bucket", "boto3 finds what is not given, and the credentials.")
    bucket.add_argument("--endpoint", type=valid(values.endpoint), metavar="URL", help="an S3 server that is not AWS")
    bucket.add_argument("--region", type=valid(values.region), help="the bucket's region")
    where = parser.add_argument_group("input")
    whose = where.add_mutually_exclusive_group()
    whose.add_argument("--target", metavar="NAME", help="with `--requests`: whose rules apply (default: the only one)")
    add_file(whose, "--config", "a configuration, for more checks, and for the address of the bucket")
    add_log_arguments(where, required=False)
    add_request_arguments(parser)
    parser.set_defaults(examples=5)


def run_push(arguments: argparse.Namespace) -> int:
    """Pushes; returns 1 if the rules are refused, or if somebody else was faster."""
    if (arguments.rules is None) != (arguments.rollback or arguments.history):
        raise CommandError("give a PATH, or `--rollback` or `--history` without one")
    if arguments.to and not arguments.rollback:
        raise CommandError("`--to` goes with `--rollback`")
    act = _show_history if arguments.history else _roll_back if arguments.rollback else _push
    try:
        with closing(ReleaseBucket(_place(arguments))) as bucket:
            return act(bucket, arguments)
    except (StorageError, UnusableRelease) as error:
        raise CommandError(str(error)) from error


def _place(arguments: argparse.Namespace) -> RulesBucket:
    """Returns the place with its address, as the arguments or the configuration say; never with its credentials."""
    if arguments.endpoint or arguments.config is None:
        path_style = arguments.endpoint is not None
        return RulesBucket(arguments.place, arguments.region, arguments.endpoint, force_path_style=path_style)
    listed = (each for each in load_settings(arguments.config).rules if isinstance(each, RulesBucket))
    known = next((each for each in listed if each.s3 == arguments.place), RulesBucket(arguments.place))
    return RulesBucket(known.s3, arguments.region or known.region, known.s3_endpoint, known.force_path_style)


def _push(bucket: ReleaseBucket, arguments: argparse.Namespace) -> int:
    read = read_rule_files([arguments.rules])
    if read.diagnostics:
        raise CommandError(diagnostics=read.diagnostics)
    release = Release.of(_below(arguments.rules, read))
    with redirect_stdout(sys.stderr if arguments.quiet else sys.stdout):
        if status := _checked(arguments):
            raise CommandError("nothing was pushed", ExitStatus(status))
        # The checks read the files themselves.
        if read_rule_files([arguments.rules]) != read:
            raise CommandError("the files changed while they were checked")
        with activity(f"reading {bucket.place}"):
            pointer, etag = _pointer(bucket)
            before = _in_force(bucket, pointer)
        _show_difference(before, release, arguments)
    if before is not None and before.digest == release.digest:
        return _done(arguments, release.digest, f"nothing to do: {_described(pointer.moves[0])}")
    if arguments.dry_run:
        return ExitStatus.CLEAN
    with activity(f"writing {bucket.place}"):
        bucket.write_release(release)
        _move(bucket, pointer.pushed(release.digest, **_signed(arguments)), etag, release)
    return _done(arguments, release.digest, f"pushed {release.digest}: {counted(len(release.files), 'file')}")


def _roll_back(bucket: ReleaseBucket, arguments: argparse.Namespace) -> int:
    with activity(f"reading {bucket.place}"):
        pointer, etag = _pointer(bucket)
        after = pointer.rolled_back(arguments.to, **_signed(arguments))
        # Not moved to what is not there any more.
        release = bucket.read_release(after.moves[0].digest)
    if release.digest == pointer.digest:
        return _done(arguments, release.digest, f"nothing to do: {_described(pointer.moves[0])}")
    with activity(f"writing {bucket.place}"):
        _move(bucket, after, etag, release)
    return _done(arguments, release.digest, f"rolled back to {release.digest}: {counted(len(release.files), 'file')}")


def _show_history(bucket: ReleaseBucket, _: argparse.Namespace) -> int:
    pointer, _etag = _pointer(bucket)
    if not pointer.moves:
        print("nothing was pushed")
    for move in pointer.moves:
        print(visible(f"{move.digest[:_SHORT]}  {move.at}  {move.by}{move.note and f'  {move.note}'}"))
    return ExitStatus.CLEAN


def _pointer(bucket: ReleaseBucket) -> tuple[Pointer, str]:
    """Returns the pointer and its ETag, both empty before the first push."""
    with suppress(ObjectMissing):
        return bucket.read_pointer()
    return Pointer(), ""


def _in_force(bucket: ReleaseBucket, pointer: Pointer) -> Release | None:
    """Returns the release in force; None before the first push, or if it is damaged, which a push repairs."""
    try:
        return bucket.read_release(pointer.digest) if pointer.digest else None
    except StorageError as error:
        if not isinstance(error, ObjectMissing) and error.code != UNUSABLE:
            raise
        print(f"what is in force is damaged: {error}", file=sys.stderr)
        return None


def _below(root: Path, read: Read) -> Iterator[RuleFile]:
    """Yields files under their names within a directory."""
    for file in read.files:
        path = Path(file.name)
        yield RuleFile(path.name if path == root else path.relative_to(root).as_posix(), file.data)


def _checked(arguments: argparse.Namespace) -> int:
    """Lints and tests, as these commands do; returns the first status that is not clean."""
    words = [str(arguments.rules), *(["--config", str(arguments.config)] if arguments.config else [])]
    for run, declare in ((run_lint, lint_arguments), (run_test, test_arguments)):
        parser = argparse.ArgumentParser()
        declare(parser)
        if status := run(parser.parse_args(words)):
            return status
    return ExitStatus.CLEAN


def _show_difference(before: Release | None, after: Release, arguments: argparse.Namespace) -> None:
    """Prints the difference between two releases: of their files, and of the keys of a log's requests."""
    old = {file.name: file for file in before.files} if before else {}
    new = {file.name: file for file in after.files}
    for name in sorted(old.keys() | new.keys()):
        file = old.get(name, RuleFile(name, b""))
        print_diff(difference(file, new[name].data if name in new else b""))
    if arguments.requests is not None:
        reads = [Read(each.files if each else ()) for each in (before, after)]
        print_diff(to_text(compare_rules(reads, arguments)))


def _signed(arguments: argparse.Namespace) -> dict[str, str]:
    """Returns who moves the pointer, when and why."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container may have no name for its user
        user = "somebody"
    texts = {"by": arguments.by or f"{user}@{socket.gethostname()}", "note": arguments.note}
    at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {"at": at, **{name: " ".join(text.split()) for name, text in texts.items()}}


def _move(bucket: ReleaseBucket, after: Pointer, etag: str, release: Release) -> None:
    """Moves the pointer, if nobody else has; raises `CommandError` with who has, or with what is not known."""
    conditional = bucket.heeds_conditions(release)
    if not conditional:
        print(f"{bucket.place} ignores If-Match: of two pushes at once, the later one wins", file=sys.stderr)
    failure: StorageError | None = None
    try:
        bucket.move(after, etag, conditional=conditional)
    except StorageError as error:
        failure = error
    else:
        if conditional:
            return
    try:
        pointer, _ = _pointer(bucket)
    except StorageError as error:
        raise CommandError(f"whether the pointer was moved is not known: {failure or error}") from error
    if pointer.moves[:1] == after.moves[:1]:
        return  # only the answer was lost
    if pointer.moves and pointer.moves[:1] != after.moves[1:2]:
        reason = f"somebody else was faster: {_described(pointer.moves[0])}\nlook at it, then push again"
        raise CommandError(reason, ExitStatus.FINDINGS)
    raise CommandError(f"the pointer was not moved: {failure}")


def _described(move: PointerMove) -> str:
    note = move.note and f" ({move.note})"
    return visible(f"{move.by} put {move.digest[:_SHORT]} in force at {move.at}{note}")


def _done(arguments: argparse.Namespace, digest: str, text: str) -> ExitStatus:
    print(digest if arguments.quiet else text)
    return ExitStatus.CLEAN
