import asyncio
import threading
from base64 import b64encode

import bcrypt
import pytest

from tornado_proxy.auth.authenticator import AuthBusy, SignIn
from tornado_proxy.auth.basic import (
    BasicAuthenticator,
    Claim,
    HashedPassword,
    Verifier,
    VerifierLimits,
    basic_authenticators,
    read_password,
)
from tornado_proxy.config.model import Bucket, Mount, Settings, Target, TargetList
from tornado_proxy.config.providers import BasicProvider, BasicUser, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.routing.request import Request, parse_request_path
from tornado_proxy.templates.template import User

HASH = bcrypt.hashpw("wörd:2".encode(), bcrypt.gensalt(4)).decode()
ANN = BasicUser("ann", Secret("the configuration file", "plain"))
BEN = BasicUser("ben", Secret("the environment variable `BEN`", HASH))
STAFF = SignedIn("staff", (ANN, BEN))
ASK = 'Basic realm="Files", charset="UTF-8"'


def _basic(credentials):
    return "Basic " + b64encode(credentials.encode()).decode()


def _asked(*headers, guard=STAFF, users=(ANN, BEN)):
    """The answer to a request with these Authorization headers."""

    async def run():
        verifier = Verifier()
        authenticator = BasicAuthenticator(BasicProvider("staff", "Files"), users, verifier)
        request = Request(path=parse_request_path("/x"), headers=tuple(("Authorization", each) for each in headers))
        try:
            return await authenticator.authenticate(request, guard if guard is not STAFF else SignedIn("staff", users))
        finally:
            await verifier.close()

    return asyncio.run(run())


@pytest.mark.parametrize(("credentials", "name"), [("ann:plain", "ann"), ("ben:wörd:2", "ben")])
def test_a_listed_user_with_the_right_password_signs_in(credentials, name):
    """Passwords are plain or hashed, UTF-8, and may hold colons; a name may not."""
    assert _asked(_basic(credentials)) == SignIn(User(name))


def test_the_scheme_is_read_in_any_case():
    """`basic` and `BASIC` are the scheme's name too (RFC 9110 11.1)."""
    assert _asked(_basic("ann:plain").replace("Basic", "bASIC")) == SignIn(User("ann"))


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ([], "no credentials were sent"),
        (["Bearer abc"], "the credentials cannot be read"),
        (["Basic"], "the credentials cannot be read"),
        (["Basic %%%"], "the credentials cannot be read"),
        (["Basic " + b64encode(b"\xff:x").decode()], "the credentials cannot be read"),
        ([_basic("ann")], "the credentials cannot be read"),
        ([_basic("ann:pl\nain")], "the credentials cannot be read"),
        ([_basic("ann:plain"), _basic("ann:plain")], "the credentials cannot be read"),
        ([_basic("ann:wrong")], "the password of `ann` is wrong"),
        ([_basic("ben:wrong")], "the password of `ben` is wrong"),
        ([_basic("ben:" + HASH)], "the password of `ben` is wrong"),
        ([_basic("eve:plain")], "the name that was sent is not listed"),
        ([_basic("Ann:plain")], "the name that was sent is not listed"),
        ([_basic(":plain")], "the user's name is empty"),
        ([_basic("../ann:plain")], "the user's name contains a `/`"),
        ([_basic("..:plain")], "the user's name contains a `.` or `..` segment"),
        ([_basic(".:plain")], "the user's name contains a `.` or `..` segment"),
        ([_basic("a\x9bnn:plain")], "the user's name contains a control character"),
    ],
)
def test_anything_else_is_asked_for_credentials(headers, reason):
    """Absent, malformed or wrong credentials, and names that are no single segment, are a 401 with a challenge."""
    assert _asked(*headers) == Refuse(401, reason, challenge=ASK)


def test_a_user_whom_the_guard_does_not_list_is_asked_again():
    """Another resource's user does not pass: the challenge is the same as for a wrong password."""
    assert _asked(_basic("ben:wörd:2"), guard=SignedIn("staff", (ANN,))) == Refuse(
        401, "the name that was sent is not listed", challenge=ASK
    )


def test_a_guard_without_users_lets_nobody_in():
    """An empty list is a list: nobody is on it."""
    assert _asked(_basic("ann:plain"), guard=SignedIn("staff", ())) == Refuse(
        401, "the name that was sent is not listed", challenge=ASK
    )


@pytest.mark.parametrize("name", ["ann", "ben", "cat", "eve"])
def test_every_wrong_password_costs_the_same(name, monkeypatch):
    """Time does not tell who is listed, nor whose password is plain, nor how costly whose hash is."""
    computed = []

    def count(password, hashed):
        computed.append(hashed[:7])
        return False

    monkeypatch.setattr(bcrypt, "checkpw", count)
    cat = BasicUser("cat", Secret("the configuration file", bcrypt.hashpw(b"x", bcrypt.gensalt(5)).decode()))
    assert isinstance(_asked(_basic(f"{name}:wrong"), users=(ANN, BEN, cat)), Refuse)
    assert sorted(computed) == [b"$2b$04$", b"$2b$05$"]


def test_each_provider_has_its_authenticator():
    """A provider knows the users of all resources that name it, in every target, and asks under its own realm."""
    providers = (BasicProvider("staff", "Files"), BasicProvider("guests", "Guests"))
    targets = tuple(
        Target(user.user, Mount(), Bucket("b"), resources=(Resource("/**", provider="staff", users=(user,)),))
        for user in (ANN, BEN)
    )

    async def run():
        verifier = Verifier()
        found = basic_authenticators(Settings(targets=targets, basic_providers=providers), verifier)
        path, header = parse_request_path("/"), ("Authorization", _basic("ben:wörd:2"))
        signed_in = await found["staff"].authenticate(Request(path=path, headers=(header,)), SignedIn("staff", (BEN,)))
        asked = await found["guests"].authenticate(Request(path=path), SignedIn("guests", ()))
        await verifier.close()
        return signed_in, asked.challenge

    assert asyncio.run(run()) == (SignIn(User("ben")), 'Basic realm="Guests", charset="UTF-8"')


def test_users_of_the_page_of_all_targets_can_sign_in():
    """Its resource names a provider like any other."""
    page = TargetList(True, resource=Resource("/", provider="staff", users=(ANN,)))
    settings = Settings(basic_providers=(BasicProvider("staff", "Files"),), list_targets=page)

    async def run():
        verifier = Verifier()
        staff = basic_authenticators(settings, verifier)["staff"]
        request = Request(headers=(("Authorization", _basic("ann:plain")),))
        found = await staff.authenticate(request, SignedIn("staff", (ANN,)))
        await verifier.close()
        return found

    assert asyncio.run(run()) == SignIn(User("ann"))


CLAIM = Claim("staff", "ann")


class Clock:
    """Seconds that pass when told."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        """What the clock shows."""
        return self.now


class FakeHash(HashedPassword):
    """A hash that a function checks instead of a library."""

    def __init__(self, text, verify):
        super().__init__(text)
        object.__setattr__(self, "verify", verify)

    def matches(self, offered):
        """What the function says."""
        return self.verify(self.text, offered)


class Slow:
    """A hash of the password `right` that is checked when `go` is set, and counts how often it was."""

    def __init__(self, text="hash", *, waiting=False):
        self.go = threading.Event()
        self.started = threading.Semaphore(0)
        self.checks = 0
        self.password = FakeHash(text, self._verify)
        if not waiting:
            self.go.set()

    def _verify(self, text, offered):
        self.checks += 1
        self.started.release()
        assert self.go.wait(10)
        return offered == "right"


def _run(body, limits=None, clock=None):
    """Run `body(verifier)` on an event loop of its own."""

    async def run():
        verifier = Verifier(limits, clock or Clock())
        try:
            return await body(verifier)
        finally:
            await verifier.close()

    return asyncio.run(run())


@pytest.mark.parametrize(("offered", "right"), [("right", True), ("wrong", False)])
def test_hashes_and_plain_text_are_verified(offered, right):
    """A password is right or wrong, whichever way it was configured."""

    async def body(verifier):
        return [await verifier.verify(CLAIM, each, offered) for each in (Slow().password, read_password("right"))]

    assert _run(body) == [right, right]


def test_the_event_loop_goes_on_while_a_hash_is_computed():
    """Hashing happens on a thread: the loop that would release it must run meanwhile, or this never ends."""
    slow = Slow(waiting=True)

    async def body(verifier):
        check = asyncio.ensure_future(verifier.verify(CLAIM, slow.password, "right"))
        await asyncio.to_thread(slow.started.acquire)
        slow.go.set()
        return await check

    assert _run(body)


def test_a_success_is_remembered_for_a_while():
    """The same user, password and hash are checked once a minute, however often they are sent."""
    slow, clock = Slow(), Clock()

    async def body(verifier):
        counts = []
        for seconds in (0, 30, 29.9, 0.1):
            clock.now += seconds
            assert await verifier.verify(CLAIM, slow.password, "right")
            counts.append(slow.checks)
        return counts

    assert _run(body, clock=clock) == [1, 1, 1, 2]


def test_a_failure_is_never_remembered():
    """A wrong password costs its guesser a hash each time."""
    slow = Slow()

    async def body(verifier):
        for _ in range(3):
            assert not await verifier.verify(CLAIM, slow.password, "wrong")

    _run(body)
    assert slow.checks == 3


@pytest.mark.parametrize(
    ("who", "text", "offered"),
    [
        (Claim("staff", "ben"), "hash", "right"),
        (Claim("other", "ann"), "hash", "right"),
        (CLAIM, "changed", "right"),
        (CLAIM, "hash", "wrong"),
        (Claim("staffa", "nn"), "hash", "right"),
    ],
)
def test_what_is_remembered_is_good_for_nothing_else(who, text, offered):
    """Another provider, user, hash or password is checked anew, even one that reads the same when run together."""
    first, second = Slow(), Slow(text)

    async def body(verifier):
        await verifier.verify(CLAIM, first.password, "right")
        await verifier.verify(who, second.password, offered)

    _run(body)
    assert second.checks == 1


def test_the_memory_is_bounded():
    """The number of remembered successes is limited; the oldest is forgotten first."""
    slow = Slow()

    async def body(verifier):
        for name in ("ann", "ben", "cat", "cat", "ben", "ann"):
            await verifier.verify(Claim("staff", name), slow.password, "right")

    _run(body, VerifierLimits(remembered=2))
    assert slow.checks == 4


def test_requests_with_one_password_share_its_check():
    """A page whose twenty images arrive at once makes one hash, not twenty."""
    slow = Slow(waiting=True)

    async def body(verifier):
        checks = [asyncio.ensure_future(verifier.verify(CLAIM, slow.password, "right")) for _ in range(20)]
        await asyncio.to_thread(slow.started.acquire)
        slow.go.set()
        return await asyncio.gather(*checks)

    assert _run(body, VerifierLimits(threads=1, waiting=0)) == [True] * 20
    assert slow.checks == 1


def test_a_request_that_gives_up_takes_no_other_with_it():
    """Cancelling one of two that wait for a check leaves the other its answer."""
    slow = Slow(waiting=True)

    async def body(verifier):
        first, second = (asyncio.ensure_future(verifier.verify(CLAIM, slow.password, "right")) for _ in range(2))
        await asyncio.to_thread(slow.started.acquire)
        first.cancel()
        slow.go.set()
        return await asyncio.gather(first, second, return_exceptions=True)

    first, second = _run(body)
    assert isinstance(first, asyncio.CancelledError)
    assert second is True


@pytest.mark.parametrize(
    ("limits", "right"),
    [
        ({"waiting": 3}, Claim("staff", "ann", "::2")),
        ({"waiting_per_name": 3}, Claim("staff", "mallory", "::2")),
        ({"waiting_per_address": 3}, Claim("staff", "ann", "::1")),
    ],
)
def test_any_number_of_wrong_passwords_keep_no_right_one_waiting(limits, right):
    """Too many checks turn the oldest away, of the name, the address or all, and the newest runs next."""
    slow, order = Slow(waiting=True), []

    def verify(text, offered):
        order.append(offered)
        return slow.password.matches(offered)

    password = FakeHash("hash", verify)

    async def body(verifier):
        mallory = Claim("staff", "mallory", "::1")
        wrong = [asyncio.ensure_future(verifier.verify(mallory, password, f"wrong {n}")) for n in range(300)]
        await asyncio.to_thread(slow.started.acquire)
        check = asyncio.ensure_future(verifier.verify(right, password, "right"))
        await asyncio.sleep(0)
        slow.go.set()
        assert await check
        return await asyncio.gather(*wrong, return_exceptions=True)

    results = _run(body, VerifierLimits(threads=1, **limits))
    assert order == ["wrong 0", "right", "wrong 299", "wrong 298"]
    assert [type(each) for each in results] == [bool, *[AuthBusy] * 297, bool, bool]


def test_a_check_for_nobody_takes_as_long_and_is_forgotten():
    """A name that is not listed costs the others' hashes each time, even with a password that one of them has."""
    slow = Slow()

    async def body(verifier):
        for _ in range(3):
            assert not await verifier.verify(Claim("staff", "eve"), None, "right", [slow.password])
        assert not await verifier.verify(Claim("staff", "eve"), None, "right")

    _run(body)
    assert slow.checks == 3


@pytest.mark.parametrize("password", [read_password("plain"), Slow().password])
def test_a_wrong_password_costs_the_others_too(password):
    """Where a password is wrong the hashes beside it are computed; a right one is answered at once."""
    beside = Slow()

    async def body(verifier):
        return [await verifier.verify(CLAIM, password, each, [beside.password]) for each in ("wrong", "plain", "right")]

    assert sorted(_run(body)) == [False, False, True]
    assert beside.checks == 2


def test_closing_drops_what_waits():
    """What has not begun is turned away when the process ends."""
    slow = Slow(waiting=True)

    async def body(verifier):
        checks = [asyncio.ensure_future(verifier.verify(CLAIM, slow.password, each)) for each in ("right", "wrong")]
        await asyncio.to_thread(slow.started.acquire)
        slow.go.set()
        await verifier.close()
        return await asyncio.gather(*checks, return_exceptions=True)

    assert [type(each) for each in _run(body, VerifierLimits(threads=1))] == [bool, AuthBusy]


def test_nothing_that_was_offered_is_kept():
    """What is remembered is made of digests: no attribute of the verifier holds a password or a name."""

    async def body(verifier):
        await verifier.verify(CLAIM, Slow().password, "right")
        return {name: repr(value) for name, value in vars(verifier).items()}

    held = _run(body)
    assert all("right'" not in text and "ann" not in text for text in held.values())
    assert len(held["_right_until"]) > len("OrderedDict()")


def test_a_hash_that_breaks_is_not_remembered():
    """An error while hashing reaches the request that waited, and the next one tries again."""
    slow = Slow()

    def broken(text, offered):
        raise MemoryError

    async def body(verifier):
        with pytest.raises(MemoryError):
            await verifier.verify(CLAIM, FakeHash("hash", broken), "right")
        return await verifier.verify(CLAIM, slow.password, "right")

    assert _run(body)
    assert slow.checks == 1
