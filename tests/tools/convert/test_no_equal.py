import pytest

from tornado_proxy.tools.convert.no_equal import UNKNOWN, reason


@pytest.mark.parametrize(
    "path",
    [
        "templates.folderList.path",
        "tracing.enabled",
        "listTargets.mount.path",
        "authProviders.header.front.emailHeader",
        "server.compress.level",
        "internalServer.timeouts.writeTimeout",
        "server.ssl.certificates",
        "targets.site.templates.helpers",
        "targets.site.actions.DELETE.config.webhooks.url",
        "targets.site.actions.PUT.config.systemMetadata.expires",
        "targets.site.bucket.requestConfig.getHeaders",
        "targets.site.bucket.S3UploadConcurrency",
        "targets.site.resources.provider",
    ],
)
def test_what_s3_proxy_has_is_known(path):
    """Each option says why it has no equal, however its name is spelt."""
    assert reason(path) != UNKNOWN


@pytest.mark.parametrize("path", ["targets.site.buckett", "servers", "targets.site.actions.GET.config.x"])
def test_what_it_has_not_is_unknown(path):
    """A mistake in the other configuration is no feature that is missing here."""
    assert reason(path) == UNKNOWN
