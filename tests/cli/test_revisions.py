"""Files of a Git revision."""

from pathlib import Path

import pytest

from tornado_proxy.cli.inputs import directory_of, in_revision, read_content, read_rules


@pytest.fixture
def repository(tmp_path, commit):
    """Creates a Git repository with committed rules and a changed working tree, and enters it."""
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
    commit()
    (tmp_path / "rules" / "astray.rules").unlink()
    (tmp_path / "rules" / "site.rules").write_text("# edited\n")
    return tmp_path


def _contents_by_name(place):
    loaded = read_rules(place)
    assert loaded.diagnostics == ()
    return {file.name: file.data for file in loaded.files}


def _message(place):
    loaded = read_rules(place)
    assert loaded.files == ()
    (diagnostic,) = loaded.diagnostics
    return diagnostic.message


def test_a_path_is_read_from_the_working_tree(repository):
    assert _contents_by_name("rules")["rules/site.rules"] == b"# edited\n"
    assert _contents_by_name("rules/site.rules") == {"rules/site.rules": b"# edited\n"}


def test_a_file_of_a_revision_is_read(repository):
    assert _contents_by_name("main:rules/site.rules") == {"main:rules/site.rules": b"# committed\n"}


@pytest.fixture
def without_stray_link(repository, commit):
    """Commits the removal of the link that leads out of the repository."""
    commit()


@pytest.mark.parametrize("place", ["HEAD:rules", "HEAD:rules/", "main:rules"])
def test_a_directory_of_a_revision_is_read_as_one_on_disk(without_stray_link, place):
    """All `*.rules` below it are read in order, links are followed, and hidden files are skipped."""
    name = place.rstrip("/")
    assert list(_contents_by_name(place)) == [f"{name}/{path}" for path in ("a/team.rules", "link.rules", "site.rules")]
    assert _contents_by_name(place)[f"{name}/link.rules"] == b"# edited\n"


def test_a_path_in_a_revision_may_be_relative(without_stray_link, repository, monkeypatch):
    """`./` starts from the current directory, as in Git."""
    monkeypatch.chdir(repository / "rules")
    assert list(_contents_by_name("main:./a")) == ["main:./a/team.rules"]
    assert list(_contents_by_name("main:.")) == ["main:./a/team.rules", "main:./link.rules", "main:./site.rules"]


def test_an_empty_path_in_a_revision_is_its_root(without_stray_link):
    assert next(iter(_contents_by_name("main:"))) == "main:rules/a/team.rules"


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("main:nowhere", "is neither a path nor a place in a Git revision: path 'nowhere' does not exist in 'main'"),
        ("--output=x:rules", "a revision does not begin with `-`"),
        ("main:docs", "`main:docs` has no rule file"),
        ("main:rules", "`main:rules/astray.rules` is not a file"),
    ],
)
def test_an_unreadable_place_has_a_diagnostic(repository, place, message):
    assert message in _message(place)


def test_an_existing_path_is_not_a_revision(repository):
    (repository / "main:rules").write_text("# odd\n")
    assert _contents_by_name("main:rules") == {"main:rules": b"# odd\n"}


def test_without_git_a_revision_cannot_be_read(repository, monkeypatch):
    monkeypatch.setenv("PATH", str(repository))
    assert "the command `git` is not installed" in _message("main:rules")


@pytest.mark.parametrize(
    ("place", "help"), [("main", "name a place in the revision, such as `main:rules/`"), ("other", None), ("-x", None)]
)
def test_a_revision_without_a_path_is_a_mistake(repository, place, help):
    (diagnostic,) = read_rules(place).diagnostics
    assert (diagnostic.message, diagnostic.help) == (f"`{place}` does not exist", help)


@pytest.mark.parametrize(
    ("place", "content"),
    [
        ("rules/site.rules", b"# edited\n"),
        ("main:rules/site.rules", b"# committed\n"),
        ("main:/rules/a/../site.rules", b"# committed\n"),
        ("main:./rules/site.rules", b"# committed\n"),
    ],
)
def test_a_file_is_read_where_it_lies(repository, place, content):
    """On disk, or in a revision, where a path may have been joined with a directory."""
    assert read_content(Path(place)) == content


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("nowhere", "No such file or directory"),
        ("main:rules", "`main:rules` is a directory"),
        ("main:../x", "is outside repository"),
        ("main:rules/../../x", "`../x` is outside of the repository"),
        ("main:nowhere", "path 'nowhere' does not exist in 'main'"),
    ],
)
def test_a_file_that_cannot_be_read_has_a_reason(repository, place, reason):
    with pytest.raises(OSError) as raised:  # noqa: PT011 - the reason is compared
        read_content(Path(place))
    assert reason in raised.value.strerror


def test_a_revision_has_the_place_of_a_path_on_disk(repository, monkeypatch):
    """From wherever the command runs; what exists or has a place is no revision."""
    assert in_revision("HEAD", "rules") == "HEAD:./rules"
    monkeypatch.chdir(repository / "docs")
    place = in_revision("main", "../rules/site.rules")
    assert read_content(Path(place)) == b"# committed\n"
    assert in_revision("main", str(repository / "rules")) == place.removesuffix("/site.rules")
    assert in_revision("main", "HEAD:rules") == "main:rules"
    others = [
        ("main:x", "."),
        ("readme.txt", "."),
        ("main", "nowhere"),
        ("other", "."),
        ("-x", "."),
        ("main", "s3://rules/site"),
    ]
    assert [in_revision(*each) for each in others] == [None] * len(others)


@pytest.mark.parametrize(
    ("place", "directory"),
    [
        ("etc/proxy.yaml", "etc"),
        ("proxy.yaml", "."),
        ("main:proxy.yaml", "main:"),
        ("main:etc/proxy.yaml", "main:etc"),
        ("main:./proxy.yaml", "main:."),
    ],
)
def test_a_file_has_a_directory(repository, place, directory):
    """Relative paths of a configuration start there."""
    assert directory_of(place) == Path(directory)
