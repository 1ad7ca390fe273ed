import os
import subprocess

import pytest

from tornado_proxy.tools.revisions import read_rules

WHO = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with rules on its branch `main`, and other ones in the working tree, in which the tests stand."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for name, text in {
        "rules/site.rules": "# committed\n",
        "rules/a/team.rules": "# team\n",
        "rules/.hidden.rules": "",
        "rules/.x/site.rules": "",
        "rules/readme.txt": "",
        "docs/readme.txt": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    (tmp_path / "rules" / "link.rules").symlink_to("site.rules")
    (tmp_path / "rules" / "astray.rules").symlink_to("/nowhere")
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], [*WHO, "commit", "-qm", "Rules"]):
        subprocess.run(["git", *words], check=True, capture_output=True)
    (tmp_path / "rules" / "astray.rules").unlink()
    (tmp_path / "rules" / "site.rules").write_text("# edited\n")
    return tmp_path


def _files(place):
    read = read_rules(place)
    assert read.diagnostics == ()
    return {file.name: file.data for file in read.files}


def _problem(place):
    read = read_rules(place)
    assert read.files == ()
    (diagnostic,) = read.diagnostics
    return diagnostic.message


def test_a_place_in_the_file_system_is_read_as_it_is(repository):
    """A directory and a file, edited or not."""
    assert _files("rules")["rules/site.rules"] == b"# edited\n"
    assert _files("rules/site.rules") == {"rules/site.rules": b"# edited\n"}


def test_a_file_of_a_revision_is_read(repository):
    """As it was committed, under the name that was given."""
    assert _files("main:rules/site.rules") == {"main:rules/site.rules": b"# committed\n"}


@pytest.fixture
def without_stray_link(repository):
    """The same, without the link that leads out of the repository."""
    subprocess.run(["git", *WHO, "commit", "-qam", "Without the stray link"], check=True, capture_output=True)


@pytest.mark.parametrize("place", ["HEAD:rules", "HEAD:rules/", "main:rules"])
def test_a_directory_of_a_revision_is_read_as_one_on_disk(without_stray_link, place):
    """Recursively, only `*.rules`, sorted, nothing that begins with a dot, links followed."""
    name = place.rstrip("/")
    assert list(_files(place)) == [f"{name}/{each}" for each in ("a/team.rules", "link.rules", "site.rules")]
    assert _files(place)[f"{name}/link.rules"] == b"# edited\n"


def test_a_path_may_start_from_where_one_stands(without_stray_link, repository, monkeypatch):
    """`./` counts from the current directory, as Git has it."""
    monkeypatch.chdir(repository / "rules")
    assert list(_files("main:./a")) == ["main:./a/team.rules"]
    assert list(_files("main:.")) == ["main:./a/team.rules", "main:./link.rules", "main:./site.rules"]


def test_a_revision_may_be_read_whole(without_stray_link):
    """Nothing behind the colon is the root."""
    assert next(iter(_files("main:"))) == "main:rules/a/team.rules"


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("nowhere", "`nowhere` does not exist"),
        ("nowhere:rules", "is neither a path nor a place in a Git revision: invalid object name 'nowhere'"),
        ("main:nowhere", "is neither a path nor a place in a Git revision: path 'nowhere' does not exist in 'main'"),
        ("--output=x:rules", "a revision does not begin with `-`"),
        ("main:docs", "`main:docs` holds no rule file"),
        ("main:rules", "`main:rules/astray.rules` is not a file"),
    ],
)
def test_what_cannot_be_read_says_why(repository, place, message):
    """In one diagnostic, with what Git said."""
    assert message in _problem(place)


def test_what_exists_is_never_taken_for_a_revision(repository):
    """A file may have a colon in its name."""
    (repository / "main:rules").write_text("# odd\n")
    assert _files("main:rules") == {"main:rules": b"# odd\n"}


def test_without_git_a_revision_cannot_be_read(repository, monkeypatch):
    """It is said what is missing."""
    monkeypatch.setenv("PATH", str(repository))
    assert "the command `git` is not installed" in _problem("main:rules")


@pytest.mark.parametrize(
    ("place", "beside", "help"),
    [
        ("main", "rules", "name a place in the revision: `main:rules`"),
        ("HEAD", "HEAD:docs", "name a place in the revision: `HEAD:rules/`"),
        ("other", "rules", None),
        ("-x", "rules", None),
    ],
)
def test_a_revision_alone_is_answered_with_a_place(repository, place, beside, help):
    """What stands beside it is the place that was meant, where it can be."""
    (found,) = read_rules(place, beside).diagnostics
    assert (found.message, found.help) == (f"`{place}` does not exist", help)
