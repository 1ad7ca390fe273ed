"""A rotated secret reaches what is in force while the files on disk are refused, in each process."""

import pytest
from administering import CONFIGURATION, RULES, Admin, eventually
from endless_s3 import endless_s3
from running import start_proxy

GUARD = """
    resources:
      - {path: /**, provider: staff, basic: {credentials: [{user: ann, password: {path: password}}]}}
authProviders: {basic: {staff: {realm: Files}}}
"""


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("broken", ["rules/site.rules", "proxy.yaml"])
def test_an_old_password_is_refused_although_the_files_are(tmp_path, workers, broken):
    """Who mends the files later need not hurry: a leaked password is replaced at once."""
    (tmp_path / "password").write_text("old")
    with endless_s3() as (endpoint, _):
        configuration = CONFIGURATION.format(endpoint=endpoint).rstrip() + GUARD
        options = ("--workers", str(workers), "--last-good", str(tmp_path / "kept"))
        with start_proxy(tmp_path, configuration, *options, site=RULES.format("first")) as proxy:
            admin = Admin.of(proxy)
            assert proxy.request("GET", "/a", user="ann:old").body == b"first/a.txt"
            (tmp_path / broken).write_text("targets: [")
            admin.wait_for_status(lambda status: status["lastFailedAttempt"] is not None)
            (tmp_path / "password").write_text("new")
            eventually(lambda: proxy.request("GET", "/a", user="ann:new").status == 200)
            admin.wait_for_status(lambda status: status["lastAttempt"]["outcome"] == "renewed")
            answers = {proxy.request("GET", "/a", user="ann:old").status for _ in range(20)}
            assert answers == {401}
            assert {proxy.request("GET", "/a", user="ann:new").body for _ in range(20)} == {b"first/a.txt"}
            assert admin.status()["lastFailedAttempt"]["outcome"] == "refused"
            assert admin.metric("tornado_proxy_config_last_reload_successful") == 0
            assert any("secrets or certificates changed: generation 2 has them" in line for line in proxy.lines)
            assert "Renewed" in admin.request("GET", "/-/")[1]
