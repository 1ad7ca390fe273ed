"""From a configuration file to settings: reading the file, its secrets and the environment that it was given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tornado_proxy.config.compilation import Loaded, compile_configuration
from tornado_proxy.config.composer import Composed
from tornado_proxy.config.options import option_names
from tornado_proxy.config.redaction import redacted
from tornado_proxy.config.secrets import Resolver, resolver
from tornado_proxy.config.vocabulary import Vocabulary
from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.files import read_file
from tornado_proxy.lang.source import SourceFile, Span

__all__ = ["Loaded", "load", "read"]

LARGEST = 8 * 1024 * 1024
"""The most bytes that a configuration file may have."""


def load(path: Path | str, env: Mapping[str, str], secrets: Resolver | None = None) -> Loaded:
    """Load a configuration file; never raises for what it says or for its absence.

    Secrets come from `env` and from files relative to it, unless another resolver is given: `secrets.unresolved` for
    tools that need none.
    """
    place, source = Path(path), read(path)
    if isinstance(source, Loaded):
        return source
    return compile_configuration(source, place.parent, secrets or resolver(env, place.parent))


def read(path: Path | str, *, again: bool = False) -> SourceFile | Loaded:
    """A configuration file's text, secrets and all; or what is in the way of reading it.

    It may be a pipe, unless it is to be read `again` some time.
    """
    try:
        content = read_file(Path(path), LARGEST, regular=again)
    except OSError as error:
        return Loaded(None, (Diagnostic("unreadable-file", f"`{path}` cannot be read: {error.strerror}"),))
    try:
        return SourceFile(str(path), content.decode())
    except UnicodeDecodeError as error:
        return _not_utf8(str(path), content, error.start)


def _not_utf8(name: str, content: bytes, start: int) -> Loaded:
    text = content.decode(errors="replace")
    shown = redacted(SourceFile(name, text), Composed(whole=False), Vocabulary(option_names()))
    offset = len(content[:start].decode())
    span = Span(shown, offset, offset + 1)
    message = f"the byte 0x{content[start]:02X} is not UTF-8"
    return Loaded(None, (Diagnostic("unreadable-file", message, span, "save the file as UTF-8"),), shown)
