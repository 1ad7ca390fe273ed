"""An HTTP front for S3 buckets: a request path becomes a key, rules in files may rewrite it, S3 is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tornado_proxy.web.handlers import ProxyApplication

__all__ = ["application"]


def application(config: str | Path) -> ProxyApplication:
    """Returns the `tornado.web.Application` of a configuration file, which follows edits until its `close` is awaited.

    Call it on a running event loop. Raises `tornado_proxy.service.embedding.ConfigurationError`.
    """
    from tornado_proxy.service import embedding  # noqa: PLC0415 - the linter starts without the server's modules

    return embedding.application(config)
