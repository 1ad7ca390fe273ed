import json
from pathlib import Path

import pytest
from go_programs import user_of

from tornado_proxy.lang.diagnostic import SourceFile
from tornado_proxy.lang.parser import parse
from tornado_proxy.rules.compile import compile_documents
from tornado_proxy.rules.model import RefusedResult, RewriteError
from tornado_proxy.templates.template import RequestData, TargetData, TargetKeyRewriteData

ROOT = Path(__file__).parents[3]
VECTORS = json.loads((ROOT / "tests/vectors/keyrewrite.json").read_text(encoding="utf-8"))["vectors"]
DIALECTS = {"REGEX": "", "TEMPLATE": "go"}


def _quoted(text):
    """A string of the rule language."""
    return json.dumps(text)


def _compiled(vector):
    statements = "".join(
        f"rewrite {_quoted(rule['source'])} -> {DIALECTS[rule['targetType']]} {_quoted(rule['target'])}\n"
        for rule in vector["rules"]
    )
    parsed = parse(SourceFile("site.rules", f"target site {{\n{statements}}}\n"))
    assert parsed.diagnostics == ()
    return compile_documents([parsed.document])


def _data(vector):
    recorded, bucket = vector["data"]["Request"], vector["data"]["Target"]["Bucket"]
    headers = tuple((name, value) for name, values in recorded["Header"].items() for value in values)
    request = RequestData(method=recorded["Method"], host=recorded["Host"], path=vector["key"], headers=headers)
    user = vector["data"].get("User")
    target = TargetData("site", bucket_name=bucket["Name"], bucket_prefix=bucket["Prefix"])
    return TargetKeyRewriteData(vector["key"], None if user is None else user_of(user), request, target)


def _answer(vector):
    """The rule that was used with the raw result; None where something failed, at load or later."""
    compiled = _compiled(vector)
    if compiled.diagnostics:
        return None
    try:
        found = compiled.rule_sets["site"].apply(_data(vector))
    except RefusedResult as error:
        return error.rewrite.number - 1, error.result
    except RewriteError:
        return None
    return (-1, vector["key"]) if found.rewrite is None else (found.rewrite.number - 1, found.result)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_recorded_rewrites_of_s3_proxy_are_made(vector):
    """The same rule matches, and makes the same text of the key; what fails there fails here."""
    assert _answer(vector) == (None if "error" in vector else (vector["rule"], vector["expect"]))
