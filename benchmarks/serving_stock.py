"""A plain application with Tornado and boto3, for comparison: `python serving_stock.py PORT FAST_S3 SLOW_S3`."""

from __future__ import annotations

import asyncio
import html
import logging
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import boto3
import tornado.web
from botocore.config import Config
from botocore.exceptions import ClientError

_LARGEST_UPLOAD = 1024**3
REWRITES = [(re.compile(rf"^moved/{number}/(.*)$"), rf"new/{number}/\1") for number in range(1000)]
THREADS = ThreadPoolExecutor(32)


class Handler(tornado.web.RequestHandler):
    """Serves files, listings and uploads."""

    def initialize(self, fast: object, slow: object) -> None:
        """Keeps the clients of both buckets."""
        self.fast, self.slow = fast, slow

    async def call(self, method: object, **parameters: object) -> dict:
        """Calls boto3 in a thread."""
        run = partial(method, Bucket="bucket", **parameters)
        return await asyncio.get_running_loop().run_in_executor(THREADS, run)

    def find(self, path: str) -> tuple:
        """Returns the client and the key of a path."""
        if path.startswith("slow/"):
            return self.slow, path.removeprefix("slow/")
        if path.startswith("rw/"):
            path = path.removeprefix("rw/")
            return self.fast, next(
                (pattern.sub(template, path) for pattern, template in REWRITES if pattern.match(path)), path
            )
        return self.fast, path

    async def get(self, path: str) -> None:
        """Serves a file or a listing."""
        client, key = self.find(path)
        if key.endswith("/"):
            listing = await self.call(client.list_objects_v2, Prefix=key, Delimiter="/")
            rows = (f"<tr><td>{html.escape(entry['Key'])}<td>{entry['Size']}" for entry in listing["Contents"])
            self.finish(f"<table>{''.join(rows)}</table>")
            return
        etag = self.request.headers.get("If-None-Match")
        try:
            response = await self.call(client.get_object, Key=key, **({"IfNoneMatch": etag} if etag else {}))
        except ClientError as error:
            self.set_status(error.response["ResponseMetadata"]["HTTPStatusCode"])
            return
        self.set_headers(response)
        loop = asyncio.get_running_loop()
        while chunk := await loop.run_in_executor(THREADS, response["Body"].read, 262144):
            self.write(chunk)
            await self.flush()

    async def head(self, path: str) -> None:
        """Serves the headers of a file."""
        client, key = self.find(path)
        self.set_headers(await self.call(client.head_object, Key=key))

    async def put(self, path: str) -> None:
        """Stores the file of a form."""
        client, key = self.find(path)
        (file,) = self.request.files["file"]
        await self.call(client.put_object, Key=key + file["filename"], Body=file["body"])
        self.set_status(201)

    def set_headers(self, response: dict) -> None:
        """Sets the headers of a file."""
        self.set_header("Content-Length", str(response["ContentLength"]))
        self.set_header("Content-Type", response["ContentType"])
        self.set_header("ETag", response["ETag"])

    def compute_etag(self) -> None:
        """Returns None, since the ETag of S3 is set."""


async def serve(port: int, *endpoints: str) -> None:
    """Serves until the process ends."""
    logging.basicConfig(level=logging.INFO)
    config = Config(s3={"addressing_style": "path"}, max_pool_connections=128)
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    fast, slow = (boto3.client("s3", endpoint_url=url, config=config, **keys) for url in endpoints)
    application = tornado.web.Application([(r"/(.*)", Handler, {"fast": fast, "slow": slow})])
    application.listen(port, "127.0.0.1", max_buffer_size=_LARGEST_UPLOAD, backlog=4096)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), *sys.argv[2:]))
