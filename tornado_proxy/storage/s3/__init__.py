"""The store that is a bucket of S3, through boto3.

Nouns: a *client* is boto3's, made without the network; *threads* make its blocking calls; an *S3 object* is a body
being read; an *upload* is one being written in parts; *failures* turn what boto3 raises into `StorageError`.
"""

from tornado_proxy.storage.s3.store import S3Store
from tornado_proxy.storage.s3.threads import Threads

__all__ = ["S3Store", "Threads"]
