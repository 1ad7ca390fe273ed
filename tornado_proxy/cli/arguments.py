"""Arguments that several commands declare alike."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import SplitResult, urlsplit

from tornado_proxy.config.values import InvalidValue

DEFAULT_URL = "http://127.0.0.1:9090"
"""The admin listener of a service that is configured otherwise nowhere."""

_Arguments = argparse._ActionsContainer  # noqa: SLF001 - argparse has no other name for a parser or a group of it


def file_name(text: str) -> str:
    """Checks the argument for a file or a directory: an empty one, as of an unset variable, is none."""
    if not text:
        raise argparse.ArgumentTypeError("a path cannot be empty")
    return text


def file_path(text: str) -> Path:
    """Converts the argument for a file or a directory, as `file_name` checks it."""
    return Path(file_name(text))


def add_flag(parser: _Arguments, name: str, help: str) -> None:
    """Declares an argument that is given or not."""
    parser.add_argument(name, action="store_true", help=help)


def add_file(parser: _Arguments, name: str, help: str, *, metavar: str = "FILE", required: bool = False) -> None:
    """Declares the argument for a file or a directory."""
    parser.add_argument(name, type=file_path, required=required, metavar=metavar, help=help)


def add_paths(parser: _Arguments, help: str) -> None:
    """Declares the argument for any number of files and directories."""
    parser.add_argument("paths", type=file_path, nargs="*", metavar="PATH", help=help)


def default_places() -> list[Path]:
    """Returns the default places of rule files."""
    usual = Path("rules")
    return [usual if usual.is_dir() else Path()]


def add_count(parser: _Arguments, name: str, default: int, help: str, bounds: tuple[int, ...] = (0,)) -> None:
    """Declares the argument for a whole number; `bounds` are the smallest, and the largest if there is one."""
    text = f"{help} (default: {default})"
    parser.add_argument(name, type=number(int, *bounds), default=default, metavar="N", help=text)


def add_format(parser: _Arguments, *formats: str) -> None:
    """Declares the argument for the format of the output; the first format is the default."""
    parser.add_argument("--format", "--output-format", dest="format", choices=formats, default=formats[0])


def add_timeout(parser: _Arguments, seconds: float, what: str) -> None:
    """Declares the argument for a time limit."""
    text = f"how long {what} (default: {seconds:g})"
    kind = number(float, 0.001, 3600)
    parser.add_argument("--timeout", type=kind, default=seconds, metavar="SECONDS", help=text)


def add_admin(parser: _Arguments, help: str, default: str) -> None:
    """Declares the argument for the URL of an admin listener."""
    parser.add_argument("--admin", type=admin_url, metavar="URL", help=f"{help} (default: {default})")


def add_tls(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments for TLS with an admin listener."""
    tls = parser.add_argument_group("TLS, with files in PEM")
    add_file(tls, "--cert", "the certificate to present to the admin listener")
    add_file(tls, "--key", "its private key (default: in the file of `--cert`)")
    add_file(
        tls,
        "--ca",
        "the authorities that sign the listener's certificate (default: the system's; loopback is not verified)",
    )


def admin_url(text: str) -> SplitResult:
    """Converts the argument that is the URL of an admin listener, such as `unix:/run/x`; `http://` may be left out."""
    try:
        url = urlsplit(text if "://" in text or text.startswith("unix:/") else f"http://{text}")
        is_remote = bool(url.hostname) and url.port != 0 and not url.path.rstrip("/")
        usable = {"http": is_remote, "https": is_remote, "unix": not url.hostname}.get(url.scheme, False)
    except ValueError:
        usable = False
    if not usable or url.username is not None or url.query or url.fragment:
        raise argparse.ArgumentTypeError(f"`{text}` is not the URL of an admin listener, such as `{DEFAULT_URL}`")
    return url


def valid(check: Callable[[str], str]) -> Callable[[str], str]:
    """Returns the type of an argument that is as an option of the configuration."""

    def converted(text: str) -> str:
        try:
            return check(text)
        except InvalidValue as invalid:
            advice = f" ({invalid.help})" if invalid.help else ""
            raise argparse.ArgumentTypeError(f"`{text}` {invalid.message}{advice}") from None

    return converted


Number = TypeVar("Number", int, float)


def number(kind: type[Number], least: Number, most: float = math.inf) -> Callable[[str], Number]:
    """Returns the type of an argument that is a number within bounds."""
    words = {int: "whole number", float: "number"}
    bounds = f"from {least} to {most}" if most < math.inf else f"of at least {least}"

    def converted(text: str) -> Number:
        with suppress(ValueError):
            if least <= (value := kind(text)) <= most:
                return value
        raise argparse.ArgumentTypeError(f"`{text}` is not a {words[kind]} {bounds}")

    return converted
