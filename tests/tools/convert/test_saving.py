import stat

import pytest

from tornado_proxy.tools.convert.saving import Unsaved, save

FILES = {"a.yaml": "secret: é\n", "rules/b.rules": "target b {}\n"}


def _names(directory):
    return sorted(str(each.relative_to(directory)) for each in directory.rglob("*") if each.is_file())


def test_files_are_written_for_their_owner_only(tmp_path):
    """They may hold what a configuration holds."""
    out = tmp_path / "new" / "out"
    save(FILES, out)
    assert _names(out) == ["a.yaml", "rules/b.rules"]
    assert (out / "a.yaml").read_bytes() == "secret: é\n".encode()
    assert stat.S_IMODE((out / "a.yaml").stat().st_mode) == 0o600


def test_nothing_is_replaced_without_force(tmp_path):
    """One file in the way is enough, and no other is written then."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "b.rules").symlink_to("nowhere")
    with pytest.raises(Unsaved, match=r"b\.rules` exists; `--force` replaces it"):
        save(FILES, tmp_path)
    assert not (tmp_path / "a.yaml").exists()


def test_force_replaces_what_is_there(tmp_path):
    """And leaves what it does not write."""
    (tmp_path / "a.yaml").write_text("old")
    (tmp_path / "other").write_text("kept")
    save(FILES, tmp_path, force=True)
    assert (tmp_path / "a.yaml").read_text() == FILES["a.yaml"]
    assert _names(tmp_path) == ["a.yaml", "other", "rules/b.rules"]


def test_a_failure_leaves_everything_as_it_was(tmp_path):
    """Nothing is put in its place before all is written; nothing half written stays."""
    (tmp_path / "a.yaml").write_text("old")
    (tmp_path / "rules").write_text("a file where a directory should be")
    with pytest.raises(Unsaved, match="cannot be written: "):
        save(FILES, tmp_path, force=True)
    assert (tmp_path / "a.yaml").read_text() == "old"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.yaml", "rules"]
