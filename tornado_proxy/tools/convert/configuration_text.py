"""This project's configuration as YAML, with comments: plain mappings, lists and scalars in, text out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

Plain = str | bool | int
Setting = Plain | Mapping[str, "Setting | Noted"] | Sequence["Setting"]

# What YAML 1.1 reads as the text that it is, whoever reads it; a word alone might be a boolean, so it is looked up.
_BARE = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
_NOT_BARE = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Noted:
    """A setting with comments above it."""

    setting: Setting
    comments: tuple[str, ...]


def configuration_text(settings: Mapping[str, Setting | Noted], opening: Sequence[str]) -> str:
    """The text of a configuration, with comments at its top."""
    head = [f"# {line}".rstrip() for line in opening]
    body = list(_mapping(settings, ""))
    return "\n".join([*head, "", *body]) + "\n"


def _mapping(settings: Mapping[str, Setting | Noted], indent: str) -> Iterator[str]:
    for name, value in settings.items():
        setting = value.setting if isinstance(value, Noted) else value
        if isinstance(value, Noted):
            yield from (f"{indent}# {_line(comment)}" for comment in value.comments)
        yield from _entry(f"{indent}{_scalar(name)}:", setting, indent)


def _entry(head: str, setting: Setting, indent: str) -> Iterator[str]:
    if _is_short(setting):
        yield f"{head} {_flow(setting)}"
        return
    yield head
    if isinstance(setting, Mapping):
        yield from _mapping(setting, indent + _INDENT)
    else:
        assert not isinstance(setting, Plain)
        for item in setting:
            yield from _item(item, indent + _INDENT)


def _item(item: Setting, indent: str) -> Iterator[str]:
    """An item of a list, whose first line begins with a dash."""
    if _is_short(item) or not isinstance(item, Mapping):
        yield f"{indent}- {_flow(item)}"
        return
    first, *rest = _mapping(item, indent + _INDENT)
    yield f"{indent}- {first.removeprefix(indent + _INDENT)}"
    yield from rest


def _is_short(setting: Setting) -> bool:
    """Whether a setting reads well on one line: a scalar, some scalars, or two entries that do."""
    if isinstance(setting, Plain):
        return True
    if isinstance(setting, Mapping):
        return len(setting) <= 2 and all(isinstance(each, Plain) for each in setting.values())
    return all(isinstance(each, Plain) for each in setting)


def _flow(setting: Setting | Noted) -> str:
    assert not isinstance(setting, Noted)
    if isinstance(setting, Plain):
        return _scalar(setting)
    if isinstance(setting, Mapping):
        return "{" + ", ".join(f"{_scalar(name)}: {_flow(each)}" for name, each in setting.items()) + "}"
    return "[" + ", ".join(_flow(each) for each in setting) + "]"


def _scalar(value: Plain) -> str:
    if isinstance(value, bool | int):
        return json.dumps(value)
    if _BARE.fullmatch(value) and value.lower() not in _NOT_BARE:
        return value
    # A JSON string is a YAML one, but for what YAML takes only escaped.
    return re.sub(
        "[\x7f-\x9f\ufeff\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False)
    )


def _line(comment: str) -> str:
    return " ".join(comment.split())
