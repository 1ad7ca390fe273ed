"""Whole rewrites as s3-proxy makes them, recorded: which rule is used, and what it makes of the key."""

import json
from pathlib import Path

import pytest

from tornado_proxy.lang.diagnostic import SourceFile, Span
from tornado_proxy.lang.tree import Dialect, Document, Literal, RewriteStatement, TargetBlock
from tornado_proxy.rules.compile import compile_documents
from tornado_proxy.rules.model import RefusedResult, RewriteError
from tornado_proxy.templates.template import RequestData, TargetData, TargetKeyRewriteData, User

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/keyrewrite.json").read_text(encoding="utf-8"))["vectors"]
DIALECTS = {"REGEX": Dialect.PLAIN, "TEMPLATE": Dialect.GO}
SPAN = Span(SourceFile("recorded", ""), 0, 0)


def _compiled(vector):
    """The rules as a document would say them."""
    statements = tuple(
        RewriteStatement(
            None, Literal(rule["source"], SPAN), DIALECTS[rule["targetType"]], Literal(rule["target"], SPAN), SPAN
        )
        for rule in vector["rules"]
    )
    return compile_documents([Document(SPAN.source, (TargetBlock(Literal("site", SPAN), statements, SPAN),))])


def _data(vector):
    user, request = vector["data"].get("User"), vector["data"]["Request"]
    target = vector["data"]["Target"]
    headers = tuple((name, value) for name, values in request.get("Header", {}).items() for value in values)
    return TargetKeyRewriteData(
        vector["key"],
        User(user["Username"], user["type"]) if user else None,
        RequestData(request["Method"], request["Host"], "/", headers=headers),
        TargetData(target["Name"], target["Bucket"]["Name"], target["Bucket"]["Prefix"]),
    )


def _outcome(vector):
    """The raw result and the number of the rule, or the error, as the recording tells them."""
    compiled = _compiled(vector)
    if compiled.diagnostics:
        return "error"
    try:
        found = compiled.rule_sets["site"].apply(_data(vector))
    except RefusedResult as error:
        return error.result, error.rewrite.number - 1
    except RewriteError:
        return "error"
    return (vector["key"], -1) if found.rewrite is None else (found.result, found.rewrite.number - 1)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_recorded_rewrites_come_out_the_same(vector):
    """The first matching rule is used, and its raw result is that of s3-proxy; a mistake at load is an error."""
    assert _outcome(vector) == ("error" if vector.get("error") else (vector["expect"], vector["rule"]))
