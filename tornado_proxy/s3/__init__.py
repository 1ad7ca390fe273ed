"""The store for a bucket of S3: reads on the event loop, writes through boto3 in threads.

`loop_reads` signs requests (`signature`), finds the bucket (`endpoint`), keeps connections (`pool`, `connection`) and
parses answers (`answers`). `client` makes the client of boto3, whose blocking calls an `executor` runs in threads;
`upload` sends large objects in parts. `failures` maps errors of S3 and exceptions of boto3 to `StorageError`.
"""

from tornado_proxy.s3.executor import Executor
from tornado_proxy.s3.store import S3Store

__all__ = ["Executor", "S3Store"]
