"""Rewrites of s3-proxy that were recorded: the rule that matched, and the key that it made."""

import json

import pytest
from go_programs import user_of
from recorded import vectors

from tornado_proxy.rules.diagnostic import SourceFile
from tornado_proxy.rules.loading import compile_documents
from tornado_proxy.rules.model import InvalidResult, RewriteError
from tornado_proxy.rules.parser import parse
from tornado_proxy.semantics.request import Request
from tornado_proxy.templates.template import TargetData, TargetKeyRewriteData

VECTORS = vectors("keyrewrite")
DIALECTS = {"REGEX": "", "TEMPLATE": "go"}


def _quoted(text):
    """Returns a text as a string of the rule language."""
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
    request = Request(method=recorded["Method"], host=recorded["Host"], path=vector["key"], headers=headers)
    user = vector["data"].get("User")
    target = TargetData("site", bucket_name=bucket["Name"], bucket_prefix=bucket["Prefix"])
    return TargetKeyRewriteData(vector["key"], None if user is None else user_of(user), request, target)


def _outcome(vector):
    """Returns the index of the matching rule and its raw result, or None after a failure at load or later."""
    compiled = _compiled(vector)
    if compiled.diagnostics:
        return None
    try:
        rewritten = compiled.rule_sets["site"].apply(_data(vector))
    except InvalidResult as error:
        return error.rewrite.number - 1, error.result
    except RewriteError:
        return None
    return (-1, vector["key"]) if rewritten.rewrite is None else (rewritten.rewrite.number - 1, rewritten.result)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_rewrites_are_those_of_s3_proxy(vector):
    """The matching rule, its raw result and failures are those that were recorded of s3-proxy."""
    assert _outcome(vector) == (None if "error" in vector else (vector["rule"], vector["expect"]))
