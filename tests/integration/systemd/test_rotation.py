"""docs/rotation.md, walked under systemd: its commands and hooks run unchanged, and no request is lost."""

import re
import ssl

import pytest
from certificates import Pair, pair
from machines import UNIT
from programs import ROOT
from steady_load import under_load

pytestmark = pytest.mark.integration

PAGE = (ROOT / "docs" / "rotation.md").read_text(encoding="utf-8")
LIVE = "/etc/letsencrypt/live/files.example.org"
HOOK = "/etc/letsencrypt/renewal-hooks/deploy/tornado-proxy"
OLD, NEW, EXPIRED = pair("a.test"), pair("a.test", serial=2), pair("a.test", serial=3, days=(-2, -1))


def _blocks(language: str, title: str) -> list[str]:
    (section,) = re.findall(rf"^## {title}\n(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


def _configure(site, title: str) -> None:
    """Takes the section `ssl` of the page over, for the service on its port."""
    (text,) = _blocks("yaml", title)
    section = text.partition("  ssl:\n")[2]
    site.configure()
    written = site.machine.path("/etc/tornado-proxy/proxy.yaml").read_text()
    server = re.search(r"^server: \{(.*)\}$", written, re.MULTILINE)[1]
    options = "".join(f"  {option}\n" for option in server.split(", "))
    tls = f"server:\n{options}  ssl:\n{section}".rstrip()
    site.machine.write("/etc/tornado-proxy/proxy.yaml", written.replace(f"server: {{{server}}}", tls))


def _renew(site, renewed: Pair) -> int:
    """Writes a certificate as certbot does, and calls the hook; returns its exit status."""
    site.machine.write(f"{LIVE}/fullchain.pem", renewed.chain, 0o600)
    site.machine.write(f"{LIVE}/privkey.pem", renewed.key, 0o600)
    site.machine.path("/etc/letsencrypt/live").chmod(0o700)
    return site.machine.exit_status("env", f"RENEWED_LINEAGE={LIVE}", HOOK)


def _served(site) -> str:
    return ssl.get_server_certificate(site.address)


def _same(one: str, other: str) -> bool:
    return ssl.PEM_cert_to_DER_cert(one) == ssl.PEM_cert_to_DER_cert(other)


def test_a_certificate_in_files_is_renewed_by_the_hook(site):
    """The hook of the page puts a renewed certificate in force, and fails for an expired one, which is not."""
    prepare, hook = _blocks("sh", "A certificate in files")
    site.machine.run("bash", "-ec", prepare)
    site.machine.write(HOOK, hook.replace("systemctl reload tornado-proxy.service", "true"), 0o755)
    assert _renew(site, OLD) == 0
    site.machine.write(HOOK, hook, 0o755)
    _configure(site, "A certificate in files")
    site.machine.systemctl("start", UNIT)
    assert _same(_served(site), OLD.chain)
    assert _renew(site, NEW) == 0
    assert _same(_served(site), NEW.chain)
    assert _renew(site, EXPIRED) != 0
    assert _same(_served(site), NEW.chain)
    assert "the certificate for `a.test` expired" in site.machine.journal(UNIT)
    assert _renew(site, OLD) == 0
    assert _same(_served(site), OLD.chain)


def test_a_certificate_as_a_credential_is_renewed_by_a_restart(site):
    """A reload changes nothing, and a restart takes the new copy."""
    (drop_in,) = _blocks("ini", "A certificate as a credential")
    site.machine.write(f"/etc/systemd/system/{UNIT}.d/keys.conf", drop_in)
    site.machine.write(HOOK, "#!/bin/sh\n", 0o755)
    _renew(site, OLD)
    site.machine.systemctl("daemon-reload")
    _configure(site, "A certificate as a credential")
    site.machine.systemctl("start", UNIT)
    assert _same(_served(site), OLD.chain)
    _renew(site, NEW)
    site.machine.systemctl("reload", UNIT)
    assert _same(_served(site), OLD.chain)
    site.machine.systemctl("restart", UNIT)
    assert _same(_served(site), NEW.chain)


def test_s3_credentials_are_replaced_under_load(site):
    """New files of a key pair, and new copies of credentials over a restart, lose no request."""
    site.machine.write("/etc/tornado-proxy/key", "one")
    site.machine.write("/etc/keys/secret", "one", 0o600)
    site.drop_in("[Service]\nLoadCredential=secret:/etc/keys/secret\n")
    site.listen_by()
    written = site.machine.path("/etc/tornado-proxy/proxy.yaml").read_text()
    pair_of_files = "accessKey: {path: key}, secretKey: {credential: secret}"
    site.machine.write(
        "/etc/tornado-proxy/proxy.yaml",
        written.replace("accessKey: {value: key}, secretKey: {value: secret}", pair_of_files),
    )
    site.machine.systemctl("start", "tornado-proxy.socket", UNIT)
    with under_load(site.address) as load:
        load.wait_for_answers()
        site.machine.write("/etc/tornado-proxy/key", "two")
        site.machine.systemctl("reload", UNIT)
        assert site.admin.status()["generation"] == 2
        site.machine.write("/etc/keys/secret", "two", 0o600)
        site.machine.systemctl("restart", UNIT)
        load.wait_for_answers()
    assert load.failures == []
