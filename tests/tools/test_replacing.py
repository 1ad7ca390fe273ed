import os
import stat

import pytest

from tornado_proxy.tools.replacing import replace_file


def test_a_file_gets_new_content_and_keeps_its_mode(tmp_path):
    """Whoever could read it still can, and nobody else."""
    path = tmp_path / "site.rules"
    path.write_text("old")
    path.chmod(0o640)
    replace_file(path, b"new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_who_reads_meanwhile_keeps_the_old_content(tmp_path):
    """The file is another one afterwards; an open one is never written to."""
    path = tmp_path / "site.rules"
    path.write_text("old")
    with path.open() as reader:
        replace_file(path, b"new")
        assert reader.read() == "old"


def test_a_link_stays_one(tmp_path):
    """What it points to is replaced."""
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "site.rules", tmp_path / "link.rules"
    target.write_text("old")
    link.symlink_to(target)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_nothing_is_left_beside_it(tmp_path):
    """The file that the content was written to has become the file itself."""
    path = tmp_path / "site.rules"
    path.write_text("old")
    replace_file(path, b"new")
    assert os.listdir(tmp_path) == ["site.rules"]  # noqa: PTH208 - names are compared


def test_a_file_that_is_gone_is_not_made(tmp_path):
    """There is nothing to replace."""
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "site.rules", b"new")


def test_a_failure_leaves_the_file_and_nothing_else(tmp_path):
    """What cannot be written leaves no trace."""
    path = tmp_path / "site.rules"
    path.write_text("old")
    with pytest.raises(TypeError):
        replace_file(path, "no bytes")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["site.rules"]  # noqa: PTH208 - names are compared
