"""The store that is a bucket of S3: read on the event loop, written through boto3.

Nouns: a *client* is boto3's, made without the network; an *executor* makes its blocking calls; an *S3 object* is a body
being read; an *upload* is one being written in parts; *failures* turn what boto3 raises into `StorageError`. On the
loop, *keys* sign requests to an *endpoint*, a *pool* has the connections, and an *answer* comes on one of them.
"""

from tornado_proxy.storage.s3.executor import Executor
from tornado_proxy.storage.s3.store import S3Store

__all__ = ["Executor", "S3Store"]
