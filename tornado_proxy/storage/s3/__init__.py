"""The store that is a bucket of S3: read on the event loop, written through boto3.

The *client* of boto3 is made without the network, by what needs it first, and an *executor* makes its blocking calls;
an *S3 object* is a body being read, an *upload* one being written in parts; *failures* turn exceptions of boto3 into
`StorageError`. On the loop, a *signature* is made with the key pair of the configuration or of boto3, for the
*endpoint* of the bucket, and a *pool* has the connections.
"""

from tornado_proxy.storage.s3.executor import Executor
from tornado_proxy.storage.s3.store import S3Store

__all__ = ["Executor", "S3Store"]
