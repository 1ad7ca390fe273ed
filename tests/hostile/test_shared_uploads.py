"""What one target takes as an upload runs in no browser, whichever target shows it, unless that is said to be meant."""

import pytest
import real_s3
from running import form, start_proxy

CONFIGURATION = """
targets:
  files:
    mount: {{path: /files}}
    bucket: &bucket {{name: shared, s3Endpoint: "{endpoint}", s3ForcePathStyle: true}}
    actions: {{PUT: {{enabled: true, config: {{allowOverride: true}}}}}}
    resources: [{{path: /**, whiteList: true, methods: [GET, PUT]}}]
  site:
    mount: {{path: /site}}
    bucket: {{<<: *bucket, prefix: "{prefix}"}}
    actions: {{GET: {{config: {{{choice}}}}}}}
    templates: {{folderList: {{path: site/page.tpl, inBucket: true}}}}
"""
SCRIPT = b"<script>alert(document.cookie)</script>"


@pytest.mark.parametrize("prefix", ["", "site"])
@pytest.mark.parametrize("choice", ["", "activeContent: inline"])
def test_no_upload_to_one_target_runs_at_another(tmp_path, prefix, choice):
    """HTML is an attachment at a target that takes no uploads itself, and an uploaded template's page runs no scripts."""
    with real_s3.moto() as endpoint:
        endpoint.client.create_bucket(Bucket="shared")
        text = CONFIGURATION.format(endpoint=endpoint.url, prefix=prefix, choice=choice)
        with start_proxy(tmp_path, text) as proxy:
            for name in ("a.html", "page.tpl"):
                headers, body = form(name, SCRIPT)
                body = body.replace(b"text/plain", b"text/html")
                assert proxy.request("PUT", "/files/site/", headers=headers, body=body).status == 201
            directory = "/site/" if prefix else "/site/site/"
            file, page = proxy.request("GET", f"{directory}a.html"), proxy.request("GET", directory)
        assert (file.body, page.body) == (SCRIPT, SCRIPT)
        assert (file.headers.get("content-disposition") == "attachment") == (not choice)
        assert page.headers.get("content-security-policy", "").startswith("sandbox;") == (not choice)
        said = [line for line in proxy.lines if "shared-uploads" in line]
        assert len(said) == (0 if choice else 2), proxy.lines
