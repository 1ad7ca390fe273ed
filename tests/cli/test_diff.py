import gzip
import json
from pathlib import Path

import pytest
from command_lines import imported_by

OLD = 'target site {\n    rewrite `^/a/(.*)$` -> "/one/$1"\n}\n'
NEW = 'target site {\n    rewrite `^/a/(.*)$` -> "/two/$1"\n}\n'
QUERY = 'target site {\n    rewrite `^/a/` -> jinja "/{{ request.query.v }}"\n}\n'


@pytest.fixture
def sides(command):
    """Rules before and now, and a log."""
    Path("old.rules").write_text(OLD)
    Path("new.rules").write_text(NEW)
    Path("paths").write_text("/a/x?v=1\n/a/x?v=2\n/b\n")
    return ("diff", "old.rules", "new.rules", "--requests", "paths")


def test_requests_that_differ_by_their_query_are_one(command, sides):
    """Where no template can read it."""
    assert command(*sides).out.startswith("key changed: 2 of 3 requests, 1 of 2 distinct\n")


def test_a_template_that_may_read_the_query_tells_them_apart(command, sides):
    """Each query may make another key."""
    Path("new.rules").write_text(QUERY)
    done = command(*sides)
    assert done.out.startswith("key changed: 2 of 3 requests, 2 of 3 distinct\n")
    assert "  /a/x?v=1\n  - /one/x\n  + /1\n" in done.out


def test_a_go_template_may_always_read_it(command, sides):
    """Its data can be read as a whole."""
    Path("new.rules").write_text(OLD.replace('"/one/$1"', 'go "/{{ .Key }}"'))
    assert "2 of 3 distinct" in command(*sides).out


def test_json_tells_the_same(command, sides):
    """With the status of the text."""
    done = command(*sides, "--format", "json")
    assert done.status == 1
    assert json.loads(done.out)["changed"] == {"total": 2, "different": 1}


@pytest.mark.parametrize("format", ["text", "json", "markdown"])
def test_the_same_rules_are_status_0(command, sides, format):
    """In every form."""
    assert command("diff", "old.rules", "old.rules", "--requests", "paths", "--format", format).status == 0


def test_a_compressed_log_is_read(command, sides):
    """As it is rotated."""
    Path("paths").write_bytes(gzip.compress(b"/a/x\n"))
    assert command(*sides).status == 1


def test_a_target_that_one_side_lacks_has_no_rules_there(command, sides):
    """A new target changes what its rewrites take."""
    Path("old.rules").write_text("target other {}\n")
    done = command(*sides, "--target", "site")
    assert "site: no rewrite → #1 (new.rules:2:5)" in done.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "sit"], "there is no target `sit`; did you mean `site`?"),
        (["--target", "site", "--config", "x"], "not allowed with argument"),
        (["--examples", "some"], "`some` is not a whole number"),
        (["--user", "a/b"], "invalid user name `a/b`"),
        (["--config", "nothing.yaml"], "nothing.yaml"),
        (["--requests", "nothing"], "`nothing` cannot be read: No such file or directory"),
    ],
)
def test_what_cannot_be_compared_is_told_apart(command, sides, words, message):
    """Usage and files that are not there are status 2."""
    done = command(*sides, *words)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def test_rules_without_targets_cannot_be_compared(command, sides):
    """There is nothing to ask."""
    Path("old.rules").write_text("")
    Path("new.rules").write_text("")
    assert "the targets are none" in command(*sides).err


def test_comparing_imports_no_server(sides):
    """Plain rules need nothing else."""
    assert imported_by(*sides) == set()


def test_many_requests_are_compared_by_several_processes(command, sides):
    """With the same result."""
    Path("paths").write_text("".join(f"/a/{number}\n" for number in range(21_000)))
    assert command(*sides, "--examples", "0").out.splitlines() == [
        "key changed: 21,000 of 21,000 requests, 21,000 of 21,000 distinct",
        "",
        "site: #1 (old.rules:2:5) → #1 (new.rules:2:5): 21,000 requests",
        "  and 21,000 more",
    ]
