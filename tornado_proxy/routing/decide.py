"""The one way from a request to its plan; the server, `explain`, `diff` and log statistics all drive it.

`decide` is a generator: it yields questions, is sent their answers, and returns the decision.
A driver may wait for a password check or a form; `simulate` answers from its arguments. `trace` explains a decision.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import assert_never

import msgspec
from msgspec.structs import replace

from gotemplate.regexp.matching import Captures
from tornado_proxy.config.providers import OpaServer
from tornado_proxy.routing.access import Access, AccessCheck, Anyone, Nobody, SignedIn
from tornado_proxy.routing.limits import LONGEST_DECIDED, MOST_DECIDED
from tornado_proxy.routing.mounts import Mounts, RouteMatch, Site
from tornado_proxy.routing.plan import (
    Attempt,
    Browse,
    ListTargets,
    Plan,
    ReadForm,
    RedirectToSignedUrl,
    Refuse,
    Serve,
    VisitProvider,
    plan_early,
    plan_missing,
    plan_moved,
    plan_object,
    plan_tries,
)
from tornado_proxy.routing.request import KeyTooLong, ObjectKey, RequestError, object_key, upload_path
from tornado_proxy.rules import model
from tornado_proxy.rules.limits import LONGEST_OBJECT_KEY
from tornado_proxy.semantics.request import READING, Request, RequestPath, User
from tornado_proxy.templates.template import TargetKeyRewriteData

_NO_TARGET = (Refuse(404, "no target is mounted at this host and path"),)
_ONLY_READING = (Refuse(405, "the page of all targets takes only GET and HEAD", READING),)
# A source takes linear time in the length of the key, so the length must be bounded before rules see the key.
_LONGEST_KEY = LONGEST_OBJECT_KEY + len("/")
_TOO_LONG = (Refuse(400, f"the key is longer than {LONGEST_OBJECT_KEY} bytes"),)
NOT_AUTHORIZED = (Refuse(403, "the user is not authorized by the resource"),)
_NO_HOME = Refuse(403, "users are isolated, and nobody is signed in")
_NOT_HOME = (Refuse(403, "users are isolated, and the rewritten key is outside of the user's directory"),)
_MOUNTED_THERE = (Refuse(400, "something else is mounted at the path of the file"),)
_HIDDEN = (Refuse(404, "the store reads the path as one at which something else is mounted"),)
_NOT_COVERED = (Refuse(403, "no resource of the target covers this method and path"),)


class Decision(msgspec.Struct, frozen=True):
    """The decision about a request, complete when it has a `plan`."""

    request: Request
    plan: Plan
    match: RouteMatch | None = None
    checks: tuple[AccessCheck, ...] = ()
    user: User | None = None  # who had to sign in
    data: TargetKeyRewriteData | None = None  # of the rules; None, as both below, if none were applied
    rewritten: model.Rewritten | None = None  # their result
    failure: model.RewriteError | None = None  # their error

    @property
    def passed(self) -> SignedIn | None:
        """The last guard that asked for a user."""
        guards = [each.guard for each in self.checks if isinstance(each.guard, SignedIn)]
        return guards[-1] if guards else None

    @property
    def is_refused(self) -> bool:
        """Whether the answer is an error, whatever the store has."""
        return isinstance(self.plan[0], Refuse)

    def admits(self, other: Decision) -> bool:
        """Whether the target of the request would answer another request, and not with an error."""
        if self.match is None or other.match is None or other.is_refused:
            return False
        return self.match.site is other.match.site

    @property
    def is_of_address(self) -> bool:
        """Whether each request of its method, host and path gets the same: no rule, user or query has a part in it."""
        if self.match is None or self.match.site.target.actions.get.try_files or self.user:
            return False
        is_plain = self.rewritten is not None and self.rewritten.rewrite is None
        is_short = len(self.request.host) + len(self.request.path) <= LONGEST_DECIDED
        return is_plain and is_short and all(isinstance(each, Serve | Browse | Refuse) for each in self.plan)

    def again(self, request: Request) -> Decision:
        """Returns the same decision about another request."""
        return replace(self, request=request, data=self.data and replace(self.data, request=request))

    @property
    def rewrite(self) -> model.Rule | None:
        """The rule that took the key, even if it failed; None if none did."""
        return self.rewritten.rewrite if self.rewritten else self.failure.rewrite if self.failure else None


class Authenticate(msgspec.Struct, frozen=True):
    """Asks for the user of the request; the answer is a user that the guard lists, or `Refuse`."""

    so_far: Decision
    guard: SignedIn


class Authorize(msgspec.Struct, frozen=True):
    """Asks a policy server whether a signed-in user may make the request; the answer is a boolean or `Refuse`."""

    so_far: Decision
    server: OpaServer
    user: User


class NameFile(msgspec.Struct, frozen=True):
    """Asks for the file name in the form of an upload; None ends the decision with a plan to read the form."""

    so_far: Decision
    max_size: int | None  # bytes of the file


Question = Authenticate | Authorize | NameFile
QuestionAnswer = User | Refuse | bool | str | None
Steps = Generator[Question, QuestionAnswer, Decision]


def decide(mounts: Mounts, request: Request, *, tries: bool = True) -> Steps:
    """Decides about a request: target, method, access, rewrite, plan; `tries` says whether `tryFiles` counts."""
    address = request.method, request.host, request.path
    known: Decision | None = mounts.decided.get(address)
    if known is not None:
        return known.again(request)
    decision = yield from _decide(mounts, request, tries=tries)
    if tries and decision.is_of_address:
        if len(mounts.decided) >= MOST_DECIDED:
            mounts.decided.clear()
        mounts.decided[address] = decision.again(Request())
    return decision


def _decide(mounts: Mounts, request: Request, *, tries: bool) -> Steps:  # noqa: PLR0911 - one for each way that a decision ends
    # The service's own pages come first, whatever is mounted there.
    if (visit := mounts.provider_pages.get(request.path)) is not None:
        provider, step = visit
        methods: tuple[str, ...] = ("GET", "POST") if step == "logout" else ("GET",)
        refused = Refuse(405, f"the {step} page of `{provider}` does not take the method `{request.method}`", methods)
        return Decision(request, (VisitProvider(provider, step) if request.method in methods else refused,))
    page = mounts.target_list
    listed = page and page.find(request.host, request.path)
    if page and listed and request.method in READING:
        decision = yield from _check_access(Decision(request, ()), page.access, listed)
        return decision if decision.plan else replace(decision, plan=(ListTargets(),))
    if (match := mounts.find(request.host, request.path)) is None:
        return Decision(request, _ONLY_READING if listed else _NO_TARGET)
    if len(match.key.encode()) > _LONGEST_KEY:
        return Decision(request, _TOO_LONG, match)
    methods = match.site.methods
    if request.method not in methods:
        # Before access, so that nobody signs in for a method that is not enabled.
        return Decision(request, (Refuse(405, f"the method `{request.method}` is not enabled", methods),), match)
    if closed := _plan_folded(mounts, match, request.host, request.path):
        return Decision(request, closed, match)
    decision = yield from _check_access(Decision(request, (), match), match.site.access, request.path)
    if decision.plan:
        return decision
    early = plan_early(match, request)
    if not early:
        return _rewrite(decision, match, match.key, request.path, tries=tries and request.method in READING)
    decision = replace(decision, plan=early)
    first = early[0]
    return (yield from _decide_upload(mounts, decision, match, first)) if isinstance(first, ReadForm) else decision


def _decide_upload(mounts: Mounts, decision: Decision, match: RouteMatch, form: ReadForm) -> Steps:
    """Decides about an upload again once its file has a name, since its path needs a check of access too."""
    name = yield NameFile(decision, form.max_size)
    if name is None:
        return decision
    assert isinstance(name, str)
    directory = decision.request.path
    try:
        path = upload_path(directory, name)
    except RequestError as error:
        return replace(decision, plan=_refused(error))
    owner = mounts.find(decision.request.host, path)
    if path in mounts.provider_pages or owner is None or owner.mount != match.mount:
        return replace(decision, plan=_MOUNTED_THERE)
    if closed := _plan_folded(mounts, match, decision.request.host, path):
        return replace(decision, plan=closed)
    # The user who signed in for the directory of an upload stays signed in for the file.
    decision = yield from _check_access(decision, match.site.access, path)
    return decision if decision.plan else _rewrite(decision, match, model.Key(match.key + path[len(directory) :]), path)


def _plan_folded(mounts: Mounts, match: RouteMatch, host: str, path: RequestPath) -> Plan:
    """Refuses a path that the store of its site reads as one that is invalid, or is another site's."""
    if reason := model.fold_objection(path, match.site.folding):
        return (Refuse(400, f"the path, as the store reads it, {reason}"),)
    return _HIDDEN if mounts.hides(host, path, match) else ()


def _check_access(so_far: Decision, access: Access, path: RequestPath) -> Steps:
    """Checks access to a path; the decision has a plan if the request is refused."""
    decision: Decision = replace(so_far, plan=())
    for check in access.checks(path, so_far.request.method):
        guard, before = check.guard, decision
        decision = replace(decision, checks=(*decision.checks, check))
        if isinstance(guard, Anyone):
            continue
        if isinstance(guard, Nobody):
            return replace(decision, plan=_NOT_COVERED)
        known = decision.user if check.is_folded and guard == before.passed else None
        user = known or (yield Authenticate(decision, guard))
        if isinstance(user, Refuse):
            return replace(decision, plan=(user,))
        assert isinstance(user, User)
        decision = replace(decision, user=user)
        permitted = guard.permits(user) and (guard.opa is None or (yield Authorize(decision, guard.opa, user)))
        if isinstance(permitted, Refuse):
            return replace(decision, plan=(permitted,))
        if not permitted:
            return replace(decision, plan=NOT_AUTHORIZED)
    return decision


def _rewrite(
    decision: Decision, match: RouteMatch, key: model.Key, path: RequestPath, *, tries: bool = False
) -> Decision:
    """Applies the rules to a key and plans the result; `path` includes the file name of an upload."""
    request, checks, user, site = decision.request, decision.checks, decision.user, match.site
    if isinstance(home := _home(site, user), Refuse):
        return replace(decision, plan=(home,))
    key = model.Key(home + key[1:])
    if len(key.encode()) > _LONGEST_KEY:
        return replace(decision, plan=_TOO_LONG)
    data = TargetKeyRewriteData(key, user, request, site.data)
    try:
        rewritten = site.rules.apply(data)
    except model.RewriteError as error:
        return Decision(request, _refused(error), match, checks, user, data, None, error)
    moved = rewritten.moved
    try:
        if moved and not moved.if_missing:
            plan: Plan = plan_moved(match, request, moved, home)
        elif reason := model.fold_objection(rewritten.key, site.folding):
            plan = (Refuse(400, f"the rewritten key, as the store reads it, {reason}"),)
        elif not rewritten.key.startswith(home):
            plan = _NOT_HOME
        else:
            plan = plan_object(match, request, path, rewritten.key)
            if tries and site.target.actions.get.try_files:
                plan = plan_tries(plan, tuple(_tried(decision, match, plan[0])))
            if moved and request.method in READING:
                plan = plan_missing(plan, plan_moved(match, request, moved, home))
    except RequestError as error:
        plan = _refused(error)
    return Decision(request, plan, match, checks, user, data, rewritten)


def _tried(decision: Decision, match: RouteMatch, own: Attempt) -> Iterator[tuple[str, Attempt]]:
    """Yields the templates of `tryFiles` that lead to a file, with its attempt; `own` is that of the request itself.

    Each is an address below the mount, rewritten and planned as one; whether the user may have it, is asked when it is
    tried.
    """
    for template, key in model.tried_keys(match.key, match.site.target.actions.get.try_files):
        path, attempt = RequestPath(match.mount + key[1:]), own
        if key != match.key:
            asked = replace(decision, request=replace(decision.request, path=path))
            attempt = _rewrite(asked, replace(match, key=key), key, path).plan[0]
        if isinstance(attempt, Serve | RedirectToSignedUrl):
            yield template, attempt if key == match.key else replace(attempt, paths=(path, *attempt.paths))


def _home(site: Site, user: User | None) -> str | Refuse:
    """Returns the directory that a user's keys begin with: `/` unless users are isolated."""
    get = site.target.actions.get
    if not get.user_isolation:
        return "/"
    if user is None:
        return _NO_HOME
    reason = model.segment_objection(user.identifier)
    if reason is None and model.fold(user.identifier, site.folding) != user.identifier:
        reason = "is one that the store reads as another's"
    if reason:
        return Refuse(403, f"users are isolated, and the user's name {reason}")
    return "/" if user.identifier in get.user_isolation_admins else f"/{user.identifier}/"


def _refused(error: model.RewriteError | RequestError) -> Plan:
    named = f"rewrite `{error.rewrite.label}`: {error}" if isinstance(error, model.RewriteError) else str(error)
    return (Refuse(error.status, named, message=error.public_message),)


class Deciding:
    """A decision under way: `question` is what it waits for, None once `decision` is complete."""

    decision: Decision
    question: Question | None = None

    def __init__(self, steps: Steps) -> None:
        """Takes the first step."""
        self._steps = steps
        self.answer(None)

    def answer(self, answer: QuestionAnswer) -> None:
        """Answers the question."""
        try:
            self.question = self._steps.send(answer)
        except StopIteration as end:
            self.question, self.decision = None, end.value
        else:
            self.decision = self.question.so_far


def decide_beside(mounts: Mounts, decision: Decision, path: RequestPath, method: str = "") -> Steps:
    """Decides what a decision's user would be answered at another path; refuses one who would have to sign in again."""
    asked = replace(decision.request, method=method or decision.request.method, path=path)
    deciding = Deciding(decide(mounts, asked, tries=False))
    while (question := deciding.question) is not None:
        deciding.answer((yield question) if isinstance(question, Authorize) else _remembered(question, decision))
    return deciding.decision


def _remembered(question: Authenticate | NameFile, decision: Decision) -> QuestionAnswer:
    if isinstance(question, NameFile):
        return None
    guard, user, passed = question.guard, decision.user, decision.passed
    refused = Refuse(401, f"nobody is signed in with `{guard.provider}`")
    if user is None or passed is None or passed.provider != guard.provider:
        return refused
    # Of one name, each resource may have another password.
    return user if guard.users is None or guard.find(user.username) == passed.find(user.username) else refused


def beside(mounts: Mounts, decision: Decision, path: RequestPath, method: str = "", *, permitted: bool) -> Decision:
    """Decides as `decide_beside`, with `permitted` for the answer of every policy server."""
    return _driven(decide_beside(mounts, decision, path, method), lambda _: permitted)


def listed(mounts: Mounts, decision: Decision, path: RequestPath, method: str = "", *, permitted: bool) -> Decision:
    """Decides as `beside` about an entry of a directory, which does not have the query of the request."""
    bare = replace(decision, request=replace(decision.request, raw_query="", query=()))
    return beside(mounts, bare, path, method, permitted=permitted)


def opens_all_below(mounts: Mounts, decision: Decision) -> bool:
    """Whether `beside` refuses nothing below the path of a decision: a short cut for sites without access rules."""
    assert decision.match is not None
    site = decision.match.site
    is_closed = site.target.resources or site.target.actions.get.user_isolation or site.rules.counted
    return not is_closed and not mounts.has_below(decision.request.path, site)


def simulate(mounts: Mounts, request: Request, user: User | None, file_name: str | None = None) -> Decision:
    """Decides about a request of `user`, without checking a password, with the file name of an upload's form."""

    def answer(question: Question) -> QuestionAnswer:
        match question:
            case NameFile():
                return file_name
            case Authorize():
                return True  # a policy server is not at hand
            case Authenticate(guard=guard):
                if user is None:
                    return Refuse(401, f"nobody is signed in with `{guard.provider}`")
                unlisted = guard.users is not None and guard.find(user.username) is None
                return Refuse(401, f"`{user.username}` is not listed") if unlisted else user
            case _:
                assert_never(question)

    return _driven(decide(mounts, request), answer)


def _driven(steps: Steps, answer_to: Callable[[Question], QuestionAnswer]) -> Decision:
    deciding = Deciding(steps)
    while deciding.question is not None:
        deciding.answer(answer_to(deciding.question))
    return deciding.decision


class RewriteTrace(msgspec.Struct, frozen=True):
    """The application of the rules to a key."""

    key: str
    matched: model.Rule | None  # earlier ones did not match, later ones were not tried
    captures: Captures | None
    result: str | None = None  # of the template, raw
    rewritten: model.Key | None = None
    object_key: ObjectKey | None = None
    failure: Refuse | None = None  # why there is no object key


def trace(decision: Decision) -> RewriteTrace | None:
    """Returns the application of the rules in a decision; None if no rules were applied."""
    match, data, rewritten, error = decision.match, decision.data, decision.rewritten, decision.failure
    if match is None or data is None:
        return None
    if error is not None:
        captures = error.rewrite.pattern.search(data.key)
        result = error.result if isinstance(error, model.InvalidResult) else None
        return RewriteTrace(data.key, error.rewrite, captures, result, failure=Refuse(error.status, str(error)))
    assert rewritten is not None
    made = RewriteTrace(data.key, rewritten.rewrite, rewritten.captures, rewritten.result, rewritten.key)
    if rewritten.moved and not rewritten.moved.if_missing:
        return made
    try:
        return replace(made, object_key=object_key(match.site.target.bucket, rewritten.key))
    except KeyTooLong as too_long:
        return replace(made, failure=Refuse(too_long.status, str(too_long)))
