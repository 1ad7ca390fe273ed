"""Uploads by curl, and their webhooks."""

import json
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from running import start_proxy

CONFIGURATION = """
server: {{port: 0}}
internalServer: {{port: 0}}
targets:
  site:
    bucket: {{name: {bucket}, s3Endpoint: "{endpoint}", s3ForcePathStyle: true,
              credentials: {{accessKey: {{env: ACCESS}}, secretKey: {{env: SECRET}}}}}}
    actions:
      PUT:
        enabled: true
        config:
          rawUploads: true
          metadata: {{name: "{{{{ .Input.Filename }}}}", size: "{{{{ .Input.ContentSize }}}}"}}
          storageClass: STANDARD_IA
          webhooks: [{{url: "{hook}", secretHeaders: {{Authorization: {{env: SECRET}}}}, retryCount: 2}}]
"""


@pytest.fixture
def receiver():
    """Runs a receiver of webhooks that fails once; returns its URL and the list of its calls."""
    calls = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            calls.append((self.headers["Authorization"], body))
            self.send_response(503 if len(calls) == 1 else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", calls
    server.shutdown()
    server.server_close()
    thread.join()


def test_curl_uploads_a_file_and_a_webhook_is_called(bucket, s3_endpoint, receiver, tmp_path):
    """`curl -T` stores the file with its metadata; a failed webhook is called again before the service ends."""
    hook, calls = receiver
    file = tmp_path / "a.bin"
    file.write_bytes(b"x" * 100_000)
    with start_proxy(tmp_path, CONFIGURATION.format(bucket=bucket.name, endpoint=s3_endpoint, hook=hook)) as proxy:
        url = f"{proxy.url.rstrip(chr(47))}/dir/a.bin"
        subprocess.run(["curl", "--silent", "--fail", "-T", str(file), url], check=True, capture_output=True)
    stored = bucket.client.head_object(Bucket=bucket.name, Key="dir/a.bin")
    assert (stored["ContentLength"], stored["StorageClass"]) == (100_000, "STANDARD_IA")
    assert stored["Metadata"] == {"name": "a.bin", "size": "100000"}
    assert [body["inputMetadata"]["contentSize"] for _, body in calls] == [100_000] * 2
    assert calls[0] == calls[1]
