"""Show a configuration with every default filled in and every secret left out."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tornado_proxy.cli.inputs import CommandError, load_settings
from tornado_proxy.cli.output import ExitStatus


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "action", choices=("show",), help="`show` prints the configuration as the service understands it"
    )
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="the configuration, in YAML")
    parser.add_argument("--format", "--output-format", dest="format", choices=("yaml", "json"), default="yaml")


def run(arguments: argparse.Namespace) -> int:
    """Show; 1 if the configuration has mistakes."""
    try:
        settings = load_settings(arguments.config)
    except CommandError as error:
        return error.report("config")
    import yaml  # noqa: PLC0415 - with a configuration only

    from tornado_proxy.config.show import show  # noqa: PLC0415 - with a configuration only

    # By way of JSON, whose values YAML shows plainly.
    shown = json.dumps(show(settings), indent=2, ensure_ascii=False)
    if arguments.format == "json":
        print(shown)
    else:
        print(yaml.safe_dump(json.loads(shown), sort_keys=False, allow_unicode=True, width=120), end="")
    return ExitStatus.CLEAN
