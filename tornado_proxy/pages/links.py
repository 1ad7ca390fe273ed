"""Links made from request paths, and names and sizes for display."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from tornado_proxy.config.model import Mount
from tornado_proxy.rules.keys import path_objection
from tornado_proxy.semantics.fields import path_reference


def link(path: str, query: Sequence[tuple[str, str]] = ()) -> str:
    """The reference to a decoded request path, with a query if there is one."""
    return path_reference(path) + (f"?{urlencode(query)}" if query else "")


def link_to(directory: str, name: str) -> str | None:
    """Returns the reference to an entry of a directory; None if no request can name it."""
    path = directory + name
    return None if path_objection(path) else link(path)


def target_links(mount: Mount, scheme: str, here: str) -> tuple[str, ...]:
    """The URLs of a mount; `here` is the authority of the request, for a mount of any host."""
    host = here if not mount.host or "*" in mount.host else mount.host
    return tuple(f"{scheme}://{host}{path_reference(path)}" for path in mount.paths)


def visible(name: str) -> str:
    """Returns a name with visible symbols in place of control characters."""
    return name if name.isprintable() else "".join(_picture(character) for character in name)


def _picture(character: str) -> str:
    number = ord(character)
    if number < 0x20:
        return chr(0x2400 + number)
    if number == 0x7F:
        return "\N{SYMBOL FOR DELETE}"
    if 0x80 <= number < 0xA0 or 0xD800 <= number < 0xE000:
        return "\N{REPLACEMENT CHARACTER}"
    return character


_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def human_size(size: int) -> str:
    """A number of bytes as people read it: `0 B`, `1023 B`, `1.5 KiB`, `5.0 GiB`."""
    if size < 1024:
        return f"{size} B"
    power = 1
    # What would be shown as 1024.0 is one of the next unit.
    while power < len(_UNITS) and size / 1024**power >= 1023.95:
        power += 1
    return f"{size / 1024**power:.1f} {_UNITS[power - 1]}"
