"""Functions that run Go templates over JSON data, with Go's functions or also sprig's, and return the output or the mistake."""

from typing import Any

import pytest

from gotemplate.regexp.matching import Captures
from gotemplate.sprig import REFUSED, functions
from gotemplate.template import urls
from gotemplate.template.calling import Vocabulary
from gotemplate.template.errors import RenderBudget, RenderError, RenderLimits, TemplateMistake, refuse
from gotemplate.template.program import Program
from gotemplate.template.standard import STANDARD
from gotemplate.template.text import go_string, runes
from gotemplate.template.values import Nil, Struct, Type, Value, from_python
from tornado_proxy.semantics.request import Request, User
from tornado_proxy.templates.go import PAGE_FUNCTIONS
from tornado_proxy.templates.go_data import ROOT as DATA
from tornado_proxy.templates.go_data import GroupMap, RequestFacts, RootFacts
from tornado_proxy.templates.template import TargetData, TargetKeyRewriteData

GO = Vocabulary(STANDARD)
"""The functions of text/template alone."""

HELM = Vocabulary({**STANDARD, **functions(), "tpl": PAGE_FUNCTIONS["tpl"]}, REFUSED)
"""The functions of text/template, of sprig and of Helm, with which the vectors were recorded."""

GENEROUS = RenderLimits(steps=2_000_000, text=1_000_000, items=100_000, depth=200)


def budget(**limits: int) -> RenderBudget:
    """A budget with these limits instead of the product's."""
    return RenderBudget(RenderLimits(**limits))


def json_value(data: Any) -> Value:
    """The value of a decoded JSON text."""
    return from_python(data, RenderBudget(GENEROUS))


def program(text: str, vocabulary: Vocabulary = HELM) -> Program:
    """The program of a template; raises `TemplateMistake` for a template that Go does not parse."""
    result = Program(text, vocabulary)
    refuse(result.mistakes)
    return result


def rendered(text: str, data: Any = None, vocabulary: Vocabulary = HELM) -> str:
    """The output of a template over JSON data."""
    return runes(program(text, vocabulary).execute(json_value(data), RenderBudget(GENEROUS)))


def failure(text: str, data: Any = None, vocabulary: Vocabulary = HELM) -> str:
    """The message of the error with which a template fails while it runs."""
    with pytest.raises(RenderError) as caught:
        program(text, vocabulary).execute(json_value(data), RenderBudget(GENEROUS))
    return str(caught.value)


def mistake(text: str, vocabulary: Vocabulary = HELM) -> TemplateMistake:
    """The first mistake that is found when a template is parsed."""
    with pytest.raises(TemplateMistake) as caught:
        program(text, vocabulary)
    return caught.value


def request_root(document: dict[str, Any]) -> Struct:
    """The root data of a request that was recorded for a Go program with its complete URL."""
    recorded, target = document["Request"], document["Target"]
    pairs = [(name, value) for name, values in recorded.get("Header", {}).items() for value in values]
    remote_address, host = recorded.get("RemoteAddr", ""), go_string(recorded.get("Host", ""))
    data = Request(recorded.get("Method", ""), headers=tuple(pairs), remote_address=remote_address)
    request = RequestFacts(data, urls.parse(go_string(recorded["URL"])), host, RenderBudget(GENEROUS))
    request.request_uri = go_string(recorded.get("RequestURI", ""))
    user = None if document.get("User") is None else user_of(document["User"])
    rewrite = TargetKeyRewriteData(document.get("Key", ""), user, Request(), _target(target))
    nobody = Nil(Type("models.GenericUser", "interface"))
    facts = RootFacts(rewrite, Captures(()), RenderBudget(GENEROUS), nobody)
    facts.request, facts.groups = request, GroupMap()
    return Struct(DATA, facts)


def user_of(document: dict[str, Any]) -> User:
    """A recorded user."""
    return User(
        username=document.get("Username") or document.get("PreferredUsername", ""),
        kind=document["type"],
        email=document.get("Email", ""),
        groups=tuple(document.get("Groups") or ()),
        name=document.get("Name", ""),
        given_name=document.get("GivenName", ""),
        family_name=document.get("FamilyName", ""),
        email_verified=document.get("EmailVerified", False),
    )


def _target(document: dict[str, Any]) -> TargetData:
    bucket, mount = document["Bucket"], document["Mount"]
    return TargetData(
        name=document["Name"],
        bucket_name=bucket.get("Name", ""),
        bucket_prefix=bucket.get("Prefix", ""),
        bucket_region=bucket.get("Region", ""),
        bucket_s3_endpoint=bucket.get("S3Endpoint", ""),
        bucket_list_max_keys=bucket.get("S3ListMaxKeys", 0),
        bucket_disable_ssl=bucket.get("DisableSSL", False),
        mount_host=mount.get("Host", ""),
        mount_paths=tuple(mount.get("Path") or ()),
    )
