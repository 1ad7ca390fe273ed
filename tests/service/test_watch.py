"""Noticing changes, in a real directory: every way in which people and programs save files."""

from __future__ import annotations

import resource
import threading

import pytest
from watchdog.events import FileClosedNoWriteEvent, FileOpenedEvent

from tornado_proxy.service.watch import Watch

SOON = 5  # seconds; an event takes milliseconds


@pytest.fixture
def rules(tmp_path):
    """A directory of rules with one file, and one below it."""
    folder = tmp_path / "rules"
    (folder / "below").mkdir(parents=True)
    (folder / "site.rules").write_text("target site {}\n")
    (folder / "below" / "more.rules").write_text("target more {}\n")
    return folder


@pytest.fixture
def poked():
    """Set whenever the watch pokes."""
    return threading.Event()


@pytest.fixture
def watch(rules, poked):
    """A watch that looks at the directory."""
    made = Watch(poked.set)
    made.look_at([rules])
    assert made.trouble == ""
    yield made
    made.close()


def _write_in_place(rules):
    (rules / "site.rules").write_text("target site { }\n")


def _save_by_rename(rules):
    (rules / ".site.rules.swp").write_text("target site { }\n")
    (rules / ".site.rules.swp").rename(rules / "site.rules")


def _new_file(rules):
    (rules / "new.rules").write_text("target new {}\n")


def _delete(rules):
    (rules / "site.rules").unlink()


def _write_below(rules):
    (rules / "below" / "more.rules").write_text("target more { }\n")


def _rename_directory_in(rules):
    (rules.parent / "prepared").mkdir()
    (rules.parent / "prepared" / "x.rules").write_text("target x {}\n")
    (rules.parent / "prepared").rename(rules / "prepared")


def _replace_the_directory(rules):
    rules.rename(rules.with_name("old"))


def _allow_others(rules):
    (rules / "site.rules").chmod(0o600)


@pytest.mark.parametrize(
    "change",
    [
        _write_in_place, _save_by_rename, _new_file, _delete, _write_below, _rename_directory_in,
        _replace_the_directory, _allow_others,
    ],
)  # fmt: skip
def test_a_change_pokes(watch, rules, poked, change):
    """However a file is saved, the watch pokes."""
    change(rules)
    assert poked.wait(SOON)


@pytest.fixture
def config_map(tmp_path):
    """A directory as Kubernetes mounts a ConfigMap: links through `..data` into a dated directory."""
    folder = tmp_path / "mounted"
    (folder / "..2026_01").mkdir(parents=True)
    (folder / "..2026_01" / "site.rules").write_text("target site {}\n")
    (folder / "..data").symlink_to("..2026_01")
    (folder / "site.rules").symlink_to("..data/site.rules")
    return folder


def test_a_config_map_swap_pokes(config_map, poked):
    """`..data` is moved, and the rule file's own name never appears: the watch pokes all the same."""
    watch = Watch(poked.set)
    watch.look_at([config_map / "site.rules"])
    (config_map / "..2026_02").mkdir()
    (config_map / "..2026_02" / "site.rules").write_text("target site { }\n")
    poked.clear()
    (config_map / "..data_tmp").symlink_to("..2026_02")
    (config_map / "..data_tmp").rename(config_map / "..data")
    assert poked.wait(SOON)
    watch.close()


@pytest.mark.parametrize("event", [FileOpenedEvent("/x"), FileClosedNoWriteEvent("/x")])
def test_reading_does_not_poke(poked, event):
    """A reload reads all files; that must not cause the next reload."""
    Watch(poked.set).on_any_event(event)
    assert not poked.is_set()


def test_a_directory_put_back_is_watched_again(watch, rules, poked):
    """A directory replaced by another of the same name is watched once the watch has looked again."""
    rules.rename(rules.with_name("old"))
    rules.mkdir()
    watch.look_at([rules])
    assert poked.wait(SOON)
    poked.clear()
    (rules / "site.rules").write_text("target site {}\n")
    assert poked.wait(SOON)


def test_a_place_that_does_not_exist_yet_is_noticed_when_it_comes(tmp_path, poked):
    """The nearest directory that exists is watched for a place that does not."""
    watch = Watch(poked.set)
    watch.look_at([tmp_path / "later" / "rules"])
    (tmp_path / "later").mkdir()
    assert poked.wait(SOON)
    watch.close()


def test_a_watch_that_never_looked_can_be_closed(poked):
    """Closing before the first look is no error."""
    Watch(poked.set).close()


def test_a_kernel_that_has_no_more_is_trouble_and_no_defect(rules, poked):
    """Without a descriptor nothing is watched; with one, the next look watches."""
    watch, (soft, hard) = Watch(poked.set), resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        watch.look_at([rules])
        assert watch.trouble
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    watch.look_at([rules])
    assert watch.trouble == ""
    _write_in_place(rules)
    assert poked.wait(SOON)
    watch.close()


def test_a_place_that_cannot_be_looked_at_is_trouble_and_no_defect(tmp_path, poked):
    """Whatever the system says of it, here that its name is too long."""
    watch = Watch(poked.set)
    watch.look_at([tmp_path / ("a" * 300)])
    assert watch.trouble == "File name too long"
    watch.close()
