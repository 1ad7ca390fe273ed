"""What s3-proxy has and this project has not, yet or on purpose, by the path of the option."""

from __future__ import annotations

import re

_PAGES = "pages have their own templates here"
_WEBHOOKS = "there are no webhooks yet"
_OIDC = "there is no authentication by OpenID Connect or headers yet"

_REASONS: tuple[tuple[str, str], ...] = (
    (r"templates(\..*)?", _PAGES),
    (r"tracing(\..*)?", "there is no tracing yet"),
    (r"metrics(\..*)?", "no metric is labelled with a path"),
    (r"listTargets(\..*)?", "there is no page of all targets: its paths are answered with 404"),
    (r"authProviders\.(oidc|header)(\..*)?", _OIDC),
    (r"log\.filePath", "the log goes to standard error, where systemd or a container takes it"),
    (r"(server|internalServer)\.cors(\..*)?", "no CORS headers are sent yet"),
    (r"(server|internalServer)\.cache(\..*)?", "an object's own caching headers are sent, and nothing else"),
    (r"(server|internalServer)\.compress(\..*)?", "answers are not compressed: put that in front"),
    (r"(server|internalServer)\.timeouts\..*", "see `limits` for what bounds a connection"),
    (r"(server|internalServer)\.ssl\..*", "there is no TLS here: end it in front"),
    (r"targets\.[^.]+\.templates(\..*)?", _PAGES),
    (r"targets\.[^.]+\.actions\.[A-Z]+\.config\.webhooks(\..*)?", _WEBHOOKS),
    (r"targets\.[^.]+\.actions\.GET\.config\.streamedFileHeaders(\..*)?", "answers carry an object's own headers only"),
    (
        r"targets\.[^.]+\.actions\.PUT\.config\.(metadata|systemMetadata|storageClass|cannedACL)(\..*)?",
        "uploads get the bucket's defaults",
    ),
    (r"targets\.[^.]+\.bucket\.requestConfig(\..*)?", "calls to S3 carry no headers of yours"),
    (r"targets\.[^.]+\.bucket\.s3UploadConcurrency", "the parts of an upload are sent one after another"),
    (r"targets\.[^.]+\.bucket\.s3MaxUploadParts", "S3's own limit holds: 10 000 parts"),
    (r"targets\.[^.]+\.bucket\.s3UploadLeavePartsOnError", "no parts are left behind by an upload that fails"),
    (r"targets\.[^.]+\.actions\.GET\.config\.userIsolationAdmins", "there is no `userIsolation` to be free of"),
    (r"targets\.[^.]+\.resources\.provider", "the resource asks nobody to sign in"),
)
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), reason) for pattern, reason in _REASONS)

UNKNOWN = "this is no option of s3-proxy that is known here"


def reason(path: str) -> str:
    """Why an option has no equal."""
    return next((text for pattern, text in _COMPILED if pattern.fullmatch(path)), UNKNOWN)
