"""S3s to test against: moto in the process; a Ceph radosgw and a versitygw if `tests/integration/install` has installed them."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import boto3
import pytest
import running
from administering import eventually
from botocore.config import Config
from moto.backends import get_backend
from moto.core import DEFAULT_ACCOUNT_ID
from moto.moto_server.werkzeug_app import MotoRequestHandler, create_backend_app
from programs import part, until_end
from werkzeug.serving import make_server

from tornado_proxy.config.model import Bucket, Credentials
from tornado_proxy.config.secrets import Secret

_CLUSTER = Path(__file__).parent / "integration" / "radosgw" / "cluster"
_START_LIMIT = 60  # seconds


@dataclass(frozen=True)
class Endpoint:
    """A running S3, and the key pair of its only user."""

    url: str
    access_key: str = "access"
    secret_key: str = "secret"
    backend: Any = field(default=None, compare=False)  # moto's objects, reached without the network

    def bucket(self, name: str, **settings: Any) -> Bucket:
        """The configuration of a bucket of this S3; requests are not retried."""
        pair = Credentials(Secret("test", self.access_key), Secret("test", self.secret_key))
        defaults = {"force_path_style": True, "max_attempts": 1, "credentials": pair, "part_size": 5 * 1024**2}
        return Bucket(name, s3_endpoint=self.url, **defaults | settings)

    @cached_property
    def client(self) -> Any:
        """boto3's client, with which a test prepares and inspects buckets."""
        pair = {"aws_access_key_id": self.access_key, "aws_secret_access_key": self.secret_key}
        config = Config(s3={"addressing_style": "path"}, retries={"mode": "standard", "total_max_attempts": 1})
        return boto3.client("s3", endpoint_url=self.url, region_name="us-east-1", config=config, **pair)

    def close(self) -> None:
        """Closes the client's connections."""
        self.client.close()


@contextmanager
def moto() -> Iterator[Endpoint]:
    """Runs moto's S3 on a free port, in a thread."""
    # moto's own server searches all services for each request, which takes as long as the answer.
    server = make_server("127.0.0.1", 0, create_backend_app("s3"), threaded=True, request_handler=MotoRequestHandler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    backend = get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"]
    try:
        with closing(Endpoint(f"http://127.0.0.1:{server.port}", backend=backend)) as endpoint:
            yield endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def moto_bucket(name: str) -> Iterator[running.Bucket]:
    """Runs moto's S3 with a new bucket."""
    with moto() as endpoint, running.new_bucket(endpoint.url, name) as bucket:
        yield bucket


@contextmanager
def versitygw() -> Iterator[Endpoint]:
    """Runs Versity's gateway to a directory on a free port; skips the test if it is missing."""
    program = part("versitygw/versitygw", "versitygw")
    port = running.free_port()
    endpoint = Endpoint(f"http://127.0.0.1:{port}", secret_key="secret-of-access")
    pair = {"ROOT_ACCESS_KEY": endpoint.access_key, "ROOT_SECRET_KEY": endpoint.secret_key}
    with TemporaryDirectory() as directory:
        command = (program, "--quiet", "--port", f"127.0.0.1:{port}", "posix", directory)
        with until_end(*command, stdout=subprocess.DEVNULL, env=pair), closing(endpoint):
            eventually(lambda: running.listens(port))
            yield endpoint


@contextmanager
def radosgw() -> Iterator[Endpoint]:
    """Runs Ceph's S3 on a free port, in its own namespaces; skips the test if it is missing."""
    if os.geteuid() != 0:
        pytest.skip("radosgw runs in namespaces that only root can make")
    root = part("radosgw/.complete", "radosgw").parent
    endpoint = Endpoint(f"http://127.0.0.1:{running.free_port()}")
    port, monitor_port = endpoint.url.rpartition(":")[2], str(running.free_port())
    command = [str(_CLUSTER), str(root), port, monitor_port, endpoint.access_key, endpoint.secret_key]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, process_group=0) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", "the cluster did not start"
            with closing(endpoint):
                yield endpoint
        finally:
            # This is the first process of the namespace: when it ends, the kernel kills all others.
            process.kill()
