"""The manifests for Kubernetes are valid."""

import subprocess

import pytest
import yaml
from programs import PARTS, ROOT, output_of, part

pytestmark = pytest.mark.integration

MANIFESTS = ROOT / "deploy" / "kubernetes"


@pytest.fixture(scope="module")
def rendered() -> str:
    """The output of Kustomize, which `kubectl apply --kustomize` would send."""
    return output_of(part("kubernetes/kustomize", "kubernetes"), "build", MANIFESTS)


def _validated(text: str) -> subprocess.CompletedProcess[str]:
    location = f"{PARTS}/kubernetes/schemas/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    command = [part("kubernetes/kubeconform", "kubernetes"), "-strict", "-summary", "-schema-location", location]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def test_every_manifest_fits_its_schema(rendered):
    """Kubeconform finds no unknown field and no wrong type in the six resources."""
    result = _validated(rendered)
    assert result.returncode == 0, result.stdout
    assert "6 resources found" in result.stdout
    assert "Valid: 6, Invalid: 0, Errors: 0, Skipped: 0" in result.stdout


def test_an_unknown_field_is_refused(rendered):
    """The validation refuses a misspelled field of the container, so it can fail."""
    assert _validated(rendered.replace("readOnlyRootFilesystem", "readOnlyRootFileSystem")).returncode == 1


def test_the_canary_is_a_pod_with_files_of_its_own(rendered):
    """A Deployment and a ConfigMap, whose pod the Service selects beside the others."""
    text = output_of(PARTS / "kubernetes/kustomize", "build", MANIFESTS.with_name("kubernetes-canary"))
    result = _validated(text)
    assert "2 resources found" in result.stdout
    assert "Valid: 2, Invalid: 0, Errors: 0, Skipped: 0" in result.stdout
    canary = {each["kind"]: each for each in yaml.safe_load_all(text)}
    everything = {each["kind"]: each for each in yaml.safe_load_all(rendered)}
    pod = canary["Deployment"]["spec"]["template"]
    assert everything["Service"]["spec"]["selector"].items() < pod["metadata"]["labels"].items()
    assert pod["spec"]["volumes"][0]["configMap"]["name"] == canary["ConfigMap"]["metadata"]["name"]
    assert canary["ConfigMap"]["metadata"]["name"] != everything["ConfigMap"]["metadata"]["name"]
    assert canary["ConfigMap"]["data"] == everything["ConfigMap"]["data"]
