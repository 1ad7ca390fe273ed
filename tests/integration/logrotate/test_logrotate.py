"""A log file is rotated by the real logrotate, with the sample of deploy/, while the service is under load."""

import gzip
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from administering import CONFIGURATION, RULES, eventually
from endless_s3 import endless_s3
from programs import ROOT, TOGETHER, output_of, program, until_end
from steady_load import under_load

pytestmark = pytest.mark.integration

SAMPLE = ROOT / "deploy" / "logrotate.conf"


def rotate(folder: Path) -> None:
    """Has the real logrotate rotate the logs of a folder by the sample, whatever their age."""
    (folder / "rotate.conf").write_text(SAMPLE.read_text().replace("/var/log/tornado-proxy", str(folder)))
    command = (program("logrotate", "logrotate"), "--force", "--state", folder / "state", folder / "rotate.conf")
    assert output_of(*command, **TOGETHER) == ""


def lines_of(folder: Path) -> list[str]:
    """The lines of all logs in a folder, those that were compressed included."""
    contents = {file: file.read_bytes() for file in folder.glob("service.log*")}
    texts = [gzip.decompress(content) if file.suffix == ".gz" else content for file, content in contents.items()]
    return b"".join(texts).decode().splitlines()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_no_line_is_lost(tmp_path, workers):
    """Four rotations under load: each request has its one line, and the last file has the latest, of all processes."""
    file = tmp_path / "service.log"
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "site.rules").write_text(RULES.format("first"))
    command = [sys.executable, "-m", "tornado_proxy", "serve", "--config", str(tmp_path / "proxy.yaml")]
    with endless_s3() as (endpoint, _), file.open("a") as log:
        (tmp_path / "proxy.yaml").write_text(CONFIGURATION.format(endpoint=endpoint))
        credentials = {"ACCESS": "test", "SECRET": "test"}
        with until_end(*command, "--workers", workers, stderr=log, env=credentials):
            port = int(eventually(lambda: re.search(r"listening on http://127.0.0.1:(\d+)", file.read_text()))[1])
            with under_load(("127.0.0.1", port)) as load:
                for _ in range(4):
                    load.wait_for_answers()
                    rotate(tmp_path)
                    eventually(file.exists)
                load.wait_for_answers()
    assert load.failures == []
    requests = [line for line in lines_of(tmp_path) if " path=/a " in line]
    assert len(requests) == load.answered
    assert set(Counter(requests).values()) == {1}
    assert len(list(tmp_path.glob("service.log*"))) == 5
    assert file.read_text().count(" path=/a ") > 20
