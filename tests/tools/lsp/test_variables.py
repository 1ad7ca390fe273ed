"""What templates may read, in words."""

from __future__ import annotations

from tornado_proxy.lang.tree import Dialect
from tornado_proxy.templates.golang import view
from tornado_proxy.templates.jinja.views import NAMES, RECORDS
from tornado_proxy.tools.lsp.variables import GO, JINJA, fields

_GO_TYPES = {
    "": (view.ROOT,),
    "User": tuple(view.USERS.values()),
    "Request": (view.REQUEST,),
    "Request.URL": (view.URL,),
    "Target": (view.TARGET,),
    "Target.Bucket": (view.BUCKET,),
    "Target.Mount": (view.MOUNT,),
}


def test_every_variable_of_jinja_templates_has_words():
    """The table says what the views show, all of it and no more."""
    real = {*NAMES, *(f"{path}.{name}" for path, record in RECORDS.items() for name in record.FIELDS)}
    assert set(JINJA) == real


def test_every_variable_of_go_templates_has_words():
    """The table says what the view shows, all of it and no more."""
    members = {
        f"{path}.{name.decode()}".removeprefix(".")
        for path, types in _GO_TYPES.items()
        for of in types
        for name in (*of.getters, *of.methods)
    }
    assert set(GO) == members


def test_the_fields_of_a_variable_are_those_directly_below_it():
    """Neither itself nor what is deeper."""
    assert [name for name, _ in fields(Dialect.JINJA, "target.mount")] == ["host", "path"]
    assert [name for name, _ in fields(Dialect.GO, "")] == ["User", "Request", "Target", "Key", "Groups"]
    assert list(fields(Dialect.PLAIN, "")) == []
