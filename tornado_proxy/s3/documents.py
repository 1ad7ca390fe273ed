"""Documents that the configuration names: certificates and keys from HTTP, S3, Secrets Manager and SSM."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import Any

import urllib3
from boto3.session import Session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from urllib3.exceptions import HTTPError, LocationValueError, MaxRetryError

from tornado_proxy.config.secrets import Location
from tornado_proxy.config.server import UrlConfig
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.s3.limits import LARGEST_DOCUMENT
from tornado_proxy.wire.shares import in_thread


class DocumentUnavailable(Exception):
    """A document could not be fetched; the text gives the reason."""


def fetch_document(url: GuardedUrl, config: UrlConfig) -> bytes:
    """Fetches a URL or ARN within the `http_timeout` of `config`; blocks. Raises `DocumentUnavailable`.

    It waits for a thread, because the libraries limit the time of each read only, and an answer may take many reads.
    """
    location = Location.of(url.reveal())
    try:
        if location.scheme in ("http", "https"):
            call = partial(_by_http, url, config)
        else:
            # Not in this time: making a client takes time of its own, and no network.
            call = partial(_of_aws, _client(location, config), location)
        return in_thread(call).result(config.http_timeout)
    except TimeoutError:
        raise DocumentUnavailable("the answer takes too long") from None
    except ClientError as error:
        raise DocumentUnavailable(f"AWS answers `{error.response['Error'].get('Code')}`") from None
    except MaxRetryError as error:
        # Its own text has the path and the query.
        raise DocumentUnavailable(str(error.reason)) from None
    except LocationValueError:
        raise DocumentUnavailable("it is led to an invalid address") from None
    except (BotoCoreError, HTTPError, OSError, ValueError, KeyError) as error:
        raise DocumentUnavailable(str(error)) from None


def _by_http(url: GuardedUrl, config: UrlConfig) -> bytes:
    timeout = urllib3.Timeout(total=config.http_timeout)
    retries = urllib3.Retry(None, connect=0, read=0, status=0, other=0, redirect=3)
    with urllib3.PoolManager(timeout=timeout, retries=retries) as pool:
        answer = pool.request("GET", url.reveal(), preload_content=False)
        with closing(answer):
            if answer.status != 200:
                raise DocumentUnavailable(f"the answer is {answer.status}")
            return _whole(answer)


def _of_aws(client: Any, location: Location) -> bytes:
    with closing(client):
        if location.scheme == "s3":
            with closing(client.get_object(Bucket=location.host, Key=location.path)["Body"]) as body:
                return _whole(body)
        if location.scheme == "ssm":
            found = client.get_parameter(Name=location.path, WithDecryption=True)
            return str(found["Parameter"]["Value"]).encode()
        secret = client.get_secret_value(SecretId=location.path)
        return secret.get("SecretBinary") or secret["SecretString"].encode()  # type: ignore[no-any-return] # of boto3


def _whole(body: Any) -> bytes:
    """Reads a body; raises `DocumentUnavailable` if it is too large."""
    content: bytes = body.read(LARGEST_DOCUMENT + 1)
    if len(content) > LARGEST_DOCUMENT:
        raise DocumentUnavailable(f"the document has more than {LARGEST_DOCUMENT} bytes")
    return content


def _client(location: Location, config: UrlConfig) -> Any:
    session = Session(*(config.aws_credentials.reveal() if config.aws_credentials else ()))
    endpoint = config.aws_endpoint or ""
    if endpoint and "://" not in endpoint:
        endpoint = f"{'http' if config.aws_disable_ssl else 'https'}://{endpoint}"
    # The stubs have an overload for each service; a variable name needs `Any`.
    make: Any = session.client
    return make(
        location.scheme,
        region_name=config.aws_region or location.region or None,
        endpoint_url=endpoint or None,
        use_ssl=not config.aws_disable_ssl,
        config=Config(
            connect_timeout=config.http_timeout,
            read_timeout=config.http_timeout,
            retries={"total_max_attempts": 1},
        ),
    )
