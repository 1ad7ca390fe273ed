"""Uploads by curl, and their webhooks."""

import json
import subprocess

from running import start_proxy
from scripted_s3 import reply, scripted_s3

CONFIGURATION = """
targets:
  site:
    bucket: {{name: {bucket}, s3Endpoint: "{endpoint}", s3ForcePathStyle: true}}
    actions:
      PUT:
        enabled: true
        config:
          rawUploads: true
          metadata: {{name: "{{{{ .Input.Filename }}}}", size: "{{{{ .Input.ContentSize }}}}"}}
          storageClass: STANDARD_IA
          webhooks: [{{url: "{hook}", secretHeaders: {{Authorization: {{env: SECRET}}}}, retryCount: 2}}]
"""


def test_curl_uploads_a_file_and_a_webhook_is_called(bucket, s3_endpoint, tmp_path):
    """`curl -T` stores the file with its metadata; a failed webhook is called again before the service ends."""
    file = tmp_path / "a.bin"
    file.write_bytes(b"x" * 100_000)
    with scripted_s3(reply(503), reply(200)) as receiver:
        text = CONFIGURATION.format(bucket=bucket.name, endpoint=s3_endpoint, hook=receiver.url)
        with start_proxy(tmp_path, text) as proxy:
            url = f"{proxy.url.rstrip(chr(47))}/dir/a.bin"
            subprocess.run(["curl", "--silent", "--fail", "-T", str(file), url], check=True, capture_output=True)
    stored = bucket.client.head_object(Bucket=bucket.name, Key="dir/a.bin")
    assert (stored["ContentLength"], stored["StorageClass"]) == (100_000, "STANDARD_IA")
    assert stored["Metadata"] == {"name": "a.bin", "size": "100000"}
    assert [json.loads(body)["inputMetadata"]["contentSize"] for body in receiver.bodies] == [100_000] * 2
    assert receiver.bodies[0] == receiver.bodies[1]
    assert [receiver.header(number, "Authorization") for number in range(2)] == ["test"] * 2
