"""The log in the journal of a real systemd, with priorities, and in a file that the real logrotate rotates."""

import pytest
from administering import eventually
from machines import UNIT
from programs import ROOT, output_of, program

pytestmark = pytest.mark.integration

BROKEN = """\
  broken:
    mount: {path: [/broken]}
    bucket: {name: b, s3Endpoint: "http://127.0.0.1:1", s3ForcePathStyle: true, anonymous: true, maxAttempts: 1}
"""
SAMPLE = ROOT / "deploy" / "logrotate.conf"


@pytest.mark.parametrize("options", ["", "--workers 2"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_errors_have_a_priority(every_site, options, form):
    """`journalctl` finds a request with a 5xx as an error of the unit, and shows lines without their priority."""
    site = every_site
    site.configure(BROKEN + f"log: {{format: {form}, accessLevels: true}}\n")
    site.machine.write("/etc/default/tornado-proxy", f'OPTIONS="{options}"\n')
    site.machine.systemctl("start", UNIT)
    assert site.get("/broken/a")[0] == 502

    def found() -> list[str]:
        output = site.machine.run("journalctl", "--output=cat", "--priority=err", "--unit", UNIT)
        return [line for line in output.splitlines() if "/broken/a" in line]

    (line,) = eventually(found)
    assert line.startswith("time=" if form == "text" else "{")


def test_a_log_file_is_rotated(every_site):
    """With the lines of the sample in its unit, the service makes a new file as its own user, without a signal."""
    site, logrotate = every_site, program("logrotate", "logrotate")
    unit = [line[4:] for line in SAMPLE.read_text().splitlines() if line.startswith("#   ")]
    site.drop_in("\n".join((*unit, "")))
    site.machine.run("mkdir", "/var/log/tornado-proxy")
    site.machine.systemctl("start", UNIT)
    folder = site.machine.path("/var/log/tornado-proxy")
    for number in range(3):
        site.get(f"/{'abc'[number]}")
        eventually((folder / "service.log").exists)
        eventually(lambda name="abc"[number]: f"path=/{name} " in (folder / "service.log").read_text())
        rules = site.machine.path("/tmp/rotate.conf")
        rules.write_text(SAMPLE.read_text().replace("/var/log/tornado-proxy", str(folder)))
        output_of(logrotate, "--force", "--state", site.machine.path("/tmp/state"), rules)
    assert "path=/c " in (folder / "service.log.1").read_text()
    assert (folder / "service.log.3.gz").exists()
