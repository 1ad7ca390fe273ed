"""From a routed request to its plan: the rewrite, the join, and what to try in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import quote

from tornado_proxy.config.model import Actions
from tornado_proxy.routing.data import request_data
from tornado_proxy.routing.errors import BadFileName, KeyTooLong
from tornado_proxy.routing.keys import ObjectKey, RequestPath, object_key
from tornado_proxy.routing.mounts import Routed
from tornado_proxy.routing.plan import Browse, Plan, Receive, Redirect, Refuse, Remove, Serve, Sign
from tornado_proxy.routing.request import Facts
from tornado_proxy.rules.errors import RefusedResult, RewriteError, TemplateFailed, UserRequired
from tornado_proxy.rules.keys import Key, segment_objection
from tornado_proxy.rules.model import Rewritten
from tornado_proxy.semantics.percent import path_reference
from tornado_proxy.templates.data import TargetKeyRewriteData, User

FAILURE_STATUS: Mapping[type[RewriteError], int] = MappingProxyType(
    {
        RefusedResult: 400,  # the client chose what the template inserted
        UserRequired: 403,
        TemplateFailed: 500,
    }
)
"""What answers a request whose key could not be rewritten."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan and how it came to be: what the rules were asked, and what they made of it or why they failed.

    A request that is refused before the rules are asked has none of the three.
    """

    plan: Plan
    data: TargetKeyRewriteData | None = None
    rewritten: Rewritten | None = None
    failure: RewriteError | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request that was led to a target, and who makes it."""

    routed: Routed
    facts: Facts
    user: User | None

    @property
    def actions(self) -> Actions:
        return self.routed.site.target.actions

    @property
    def is_bare_mount(self) -> bool:
        """Whether the mount path was asked for without its closing slash: a directory, but not spelt as one."""
        return self.routed.key == "/" and not self.facts.is_directory

    def object_key(self, key: str) -> ObjectKey:
        """What S3 sees of a key; raises `KeyTooLong`."""
        return object_key(self.routed.site.target.bucket, Key(key))

    def object_key_if_any(self, key: str) -> ObjectKey | None:
        """The same, and None where S3 can hold no such key: then nothing need be looked for."""
        try:
            return self.object_key(key)
        except KeyTooLong:
            return None


def plan(routed: Routed, facts: Facts, user: User | None) -> Planned:
    """What to try for a GET, HEAD or DELETE; for a PUT, whose file is not named yet, refusals only, or nothing."""
    methods = routed.site.target.actions.methods
    if facts.method not in methods:
        return Planned((Refuse(405, f"the method `{facts.method}` is not enabled", methods),))
    return _PLANNERS[facts.method](_Asked(routed, facts, user))


def plan_upload(routed: Routed, facts: Facts, user: User | None, file_name: str) -> Planned:
    """What to do with an upload, once its form has told the file's name as the client sent it."""
    refused = plan(routed, facts, user)
    if refused.plan:
        return refused
    try:
        path = upload_path(facts.path, file_name)
    except BadFileName as error:
        return _refused(error.status, str(error))

    def receive(asked: _Asked, key: Key) -> Plan:
        put = asked.actions.put
        return (Receive(asked.object_key(key), path_reference(path), put.allow_override, put.max_size),)

    key = Key(routed.key + path[len(facts.path) :])
    return _rewritten(_Asked(routed, facts, user), key, _of_a_file(receive))


def upload_path(directory: RequestPath, file_name: str) -> RequestPath:
    r"""The path of an upload: the directory's and the file's name, cut after its last `/`; raises `BadFileName`.

    It is what access is asked about once more, and what `Location` names. A `\` is a character like any other.
    """
    name = file_name.rpartition("/")[2]
    reason = segment_objection(name)
    if reason is not None:
        raise BadFileName(f"the file's name {reason}")
    return RequestPath(directory + name)


def _plan_read(asked: _Asked) -> Planned:
    if asked.is_bare_mount:
        return Planned((Redirect(_slashed(asked.facts)),))
    return _rewritten(asked, asked.routed.key, _browse if asked.facts.is_directory else _serve)


def _plan_put(asked: _Asked) -> Planned:
    # A file has no name until its form was read, so there is nothing to rewrite yet.
    return Planned(()) if asked.facts.is_directory else _refused(400, "an upload is sent to a directory, `…/`")


def _plan_delete(asked: _Asked) -> Planned:
    # Decided before any rewrite: no rule makes a directory's request one for a file.
    if asked.facts.is_directory or asked.is_bare_mount:
        return _refused(403, "a directory is never removed")
    return _rewritten(asked, asked.routed.key, _of_a_file(_remove))


_PLANNERS: Mapping[str, Callable[[_Asked], Planned]] = MappingProxyType(
    {"GET": _plan_read, "HEAD": _plan_read, "PUT": _plan_put, "DELETE": _plan_delete}
)

_NOTHING = Refuse(404, "nothing is there")

_Attempts = Callable[[_Asked, Key], Plan]


def _rewritten(asked: _Asked, key: Key, attempts: _Attempts) -> Planned:
    """The plan that `attempts` makes of the rewritten key, or the refusal of a key that cannot be."""
    site = asked.routed.site
    data = TargetKeyRewriteData(key, asked.user, request_data(asked.facts), site.data)
    try:
        rewritten = site.rules.apply(data)
    except RewriteError as error:
        reason = f"rewrite `{error.rewrite.label}`: {error}"
        return Planned((Refuse(FAILURE_STATUS[type(error)], reason),), data, failure=error)
    try:
        return Planned(attempts(asked, rewritten.key), data, rewritten)
    except KeyTooLong as error:
        return Planned((Refuse(error.status, str(error)),), data, rewritten)


def _browse(asked: _Asked, key: Key) -> Plan:
    get = asked.actions.get
    prefix = asked.object_key(key)
    index = asked.object_key_if_any(key + get.index_document) if get.index_document else None
    opening = (Serve(index, index=True),) if index else ()
    if get.disable_listing:
        return (*opening, Refuse(403, "listing is disabled"))
    return (*opening, Browse(prefix, root=asked.routed.key == "/"), _NOTHING)


def _serve(asked: _Asked, key: Key) -> Plan:
    if key.endswith("/"):
        return (Refuse(404, _A_DIRECTORY),)
    get, facts = asked.actions.get, asked.facts
    found = asked.object_key(key)
    signed = get.redirect_to_signed_url and facts.method == "GET"
    opening = Sign(found, get.signed_url_expiration) if signed else Serve(found)
    below = asked.object_key_if_any(f"{key}/") if get.redirect_with_trailing_slash_for_not_found_file else None
    return (opening, Redirect(_slashed(facts), below), _NOTHING) if below else (opening, _NOTHING)


def _remove(asked: _Asked, key: Key) -> Plan:
    return (Remove(asked.object_key(key)),)


_A_DIRECTORY = "the rewritten key is that of a directory"


def _of_a_file(attempts: _Attempts) -> _Attempts:
    """The attempts at writing or removing a file, and a refusal where the rewritten key is that of a directory."""
    return lambda asked, key: (Refuse(403, _A_DIRECTORY),) if key.endswith("/") else attempts(asked, key)


# All that a request line can hold but for `"`, `#`, `<` and `>`, which may not stand in a query (RFC 3986 3.4).
_QUERY_AS_IT_IS = "!$%&'()*+,/:;=?@[\\]^`{|}~"


def _slashed(facts: Facts) -> str:
    """The request path with a closing slash, its query kept."""
    path = path_reference(f"{facts.path}/")
    query = quote(facts.raw_query.encode("latin-1"), safe=_QUERY_AS_IT_IS)
    return f"{path}?{query}" if query else path


def _refused(status: int, reason: str) -> Planned:
    return Planned((Refuse(status, reason),))
