"""Results of Go and of s3-proxy, recorded in `tests/vectors/`; its README says how."""

import json
from pathlib import Path
from typing import Any


def vectors(name: str) -> list[dict[str, Any]]:
    """The cases of a file, in its order."""
    text = (Path(__file__).parent / "vectors" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")]
