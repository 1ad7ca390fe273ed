"""The manifests for Kubernetes are what its API takes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

MANIFESTS = Path(__file__).parents[3] / "deploy" / "kubernetes"
PARTS = Path(os.environ.get("TORNADO_PROXY_PARTS", "/var/cache/tornado-proxy")) / "kubernetes"


@pytest.fixture(scope="module")
def rendered() -> str:
    """What `kubectl apply --kustomize` would send."""
    if not (PARTS / "kubeconform").exists():
        pytest.skip("no kubeconform: run `tests/integration/install kubernetes`")
    command = [str(PARTS / "kustomize"), "build", str(MANIFESTS)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _checked(text: str) -> subprocess.CompletedProcess[str]:
    location = f"{PARTS}/schemas/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    command = [str(PARTS / "kubeconform"), "-strict", "-summary", "-schema-location", location]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def test_every_manifest_fits_its_schema(rendered):
    """Kubeconform finds no unknown field and no wrong type in any of the six resources."""
    checked = _checked(rendered)
    assert checked.returncode == 0, checked.stdout
    assert "6 resources found" in checked.stdout
    assert "Valid: 6, Invalid: 0, Errors: 0, Skipped: 0" in checked.stdout


def test_a_field_that_does_not_exist_is_found(rendered):
    """The check above can fail: a mistyped field of the container is refused."""
    assert _checked(rendered.replace("readOnlyRootFilesystem", "readOnlyRootFileSystem")).returncode == 1
