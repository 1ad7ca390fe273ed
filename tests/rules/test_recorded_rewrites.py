"""Rewrites of s3-proxy that were recorded: the rule that matched, and the key that it made."""

import pytest
from recorded import vectors

from tornado_proxy.rules.diagnostic import SourceFile, Span
from tornado_proxy.rules.loading import compile_documents
from tornado_proxy.rules.model import InvalidResult, RewriteError
from tornado_proxy.rules.tree import Dialect, Document, Literal, RewriteStatement, TargetBlock
from tornado_proxy.semantics.request import Request, User
from tornado_proxy.templates.template import TargetData, TargetKeyRewriteData

VECTORS = vectors("keyrewrite")
DIALECTS = {"REGEX": Dialect.PLAIN, "TEMPLATE": Dialect.GO}
SPAN = Span(SourceFile("recorded", ""), 0, 0)


def _compiled(vector):
    """Compiles the rules of a vector as those of a document."""
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
        Request(request["Method"], request["Host"], "/", headers=headers),
        TargetData(target["Name"], target["Bucket"]["Name"], target["Bucket"]["Prefix"]),
    )


def _outcome(vector):
    """Returns the raw result and the index of the rule, or `error`, in the form of the recording."""
    compiled = _compiled(vector)
    if compiled.diagnostics:
        return "error"
    try:
        rewritten = compiled.rule_sets["site"].apply(_data(vector))
    except InvalidResult as error:
        return error.result, error.rewrite.number - 1
    except RewriteError:
        return "error"
    return (vector["key"], -1) if rewritten.rewrite is None else (rewritten.result, rewritten.rewrite.number - 1)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_rewrites_are_those_of_s3_proxy(vector):
    """The matching rule and its raw result are those of s3-proxy, and a mistake at load is an error."""
    assert _outcome(vector) == ("error" if vector.get("error") else (vector["expect"], vector["rule"]))
