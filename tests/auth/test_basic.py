import asyncio
import threading
from base64 import b64encode
from collections.abc import Callable
from contextlib import asynccontextmanager

import bcrypt
import pytest
from fakes import Clock

from tornado_proxy.auth.authenticator import AuthBusy, SignIn
from tornado_proxy.auth.basic import BasicAuthenticator, Claim, HashedPassword, Verifier, basic_authenticators
from tornado_proxy.config.model import Bucket, Mount, Settings, Target
from tornado_proxy.config.providers import BasicProvider, BasicUser, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.routing.request import parse_request_path
from tornado_proxy.semantics.request import Request, User

HASH = bcrypt.hashpw("wörd:2".encode(), bcrypt.gensalt(4)).decode()
ANN = BasicUser("ann", Secret("the configuration file", "plain"))
BEN = BasicUser("ben", Secret("the environment variable `BEN`", HASH))
STAFF = SignedIn("staff", (ANN, BEN))
CHALLENGE = 'Basic realm="Files", charset="UTF-8"'


def _basic(credentials):
    return "Basic " + b64encode(credentials.encode()).decode()


def _authenticate(*headers, guard=STAFF, users=(ANN, BEN)):
    """Returns the answer to a request with these Authorization headers."""

    async def run():
        verifier = Verifier()
        authenticator = BasicAuthenticator(BasicProvider("staff", "Files"), users, verifier)
        request = Request(path=parse_request_path("/x"), headers=tuple(("Authorization", header) for header in headers))
        try:
            return await authenticator.authenticate(request, guard if guard is not STAFF else SignedIn("staff", users))
        finally:
            await verifier.close()

    return asyncio.run(run())


@pytest.mark.parametrize(("credentials", "name"), [("ann:plain", "ann"), ("ben:wörd:2", "ben")])
def test_a_listed_user_with_the_right_password_signs_in(credentials, name):
    """Passwords are plain or hashed, are UTF-8, and may contain colons; names may not."""
    assert _authenticate(_basic(credentials)) == SignIn(User(name))


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
def test_invalid_credentials_are_challenged(headers, reason):
    """Absent, malformed or wrong credentials, and names that are not a single segment, get 401 with a challenge."""
    assert _authenticate(*headers) == Refuse(401, reason, challenge=CHALLENGE)


def test_a_user_whom_the_guard_does_not_list_is_challenged():
    """A user of another resource gets the same challenge as for a wrong password."""
    assert _authenticate(_basic("ben:wörd:2"), guard=SignedIn("staff", (ANN,))) == Refuse(
        401, "the name that was sent is not listed", challenge=CHALLENGE
    )


@pytest.mark.parametrize("name", ["ann", "ben", "cat", "eve"])
def test_every_wrong_password_costs_the_same(name, monkeypatch):
    """A wrong password costs one hash of each kind for every name, so its time doesn't reveal who is listed."""
    computed = []

    def count(password, hashed):
        computed.append(hashed[:7])
        return False

    monkeypatch.setattr(bcrypt, "checkpw", count)
    cat = BasicUser("cat", Secret("the configuration file", bcrypt.hashpw(b"x", bcrypt.gensalt(5)).decode()))
    assert isinstance(_authenticate(_basic(f"{name}:wrong"), users=(ANN, BEN, cat)), Refuse)
    assert sorted(computed) == [b"$2b$04$", b"$2b$05$"]


async def test_each_provider_has_its_authenticator():
    """An authenticator knows the users of all resources with its provider, in every target, and has its own realm."""
    providers = (BasicProvider("staff", "Files"), BasicProvider("guests", "Guests"))
    targets = tuple(
        Target(user.user, Mount(), Bucket("b"), resources=(Resource("/**", provider="staff", users=(user,)),))
        for user in (ANN, BEN)
    )
    verifier = Verifier()
    authenticators = basic_authenticators(Settings(targets=targets, basic_providers=providers), verifier)
    path, header = parse_request_path("/"), ("Authorization", _basic("ben:wörd:2"))
    signed_in = await authenticators["staff"].authenticate(
        Request(path=path, headers=(header,)), SignedIn("staff", (BEN,))
    )
    refused = await authenticators["guests"].authenticate(Request(path=path), SignedIn("guests", ()))
    await verifier.close()
    assert (signed_in, refused.challenge) == (SignIn(User("ben")), 'Basic realm="Guests", charset="UTF-8"')


CLAIM = Claim("staff", "ann")


class FakeHash(HashedPassword, frozen=True):
    """A hash that a function checks instead of a library."""

    verify: Callable[[str, str], bool]

    def matches(self, offered):
        """Returns the result of the function."""
        return self.verify(self.text, offered)


class SlowHash:
    """A hash of the password `right` whose checks wait for the event `go`, and are counted."""

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


@asynccontextmanager
async def _verifying(**options):
    """A verifier that is closed at the end."""
    verifier = Verifier(**{"clock": Clock(), **options})
    try:
        yield verifier
    finally:
        await verifier.close()


async def test_a_hash_is_computed_in_a_thread():
    """The event loop runs while a hash is computed; otherwise this test would never end."""
    slow = SlowHash(waiting=True)
    async with _verifying() as verifier:
        check = asyncio.ensure_future(verifier.verify(CLAIM, slow.password, "right"))
        await asyncio.to_thread(slow.started.acquire)
        slow.go.set()
        assert await check


async def test_a_success_is_remembered_for_a_minute():
    slow, clock = SlowHash(), Clock()
    async with _verifying(clock=clock) as verifier:
        counts = []
        for seconds in (0, 30, 29.9, 0.1):
            clock.now += seconds
            assert await verifier.verify(CLAIM, slow.password, "right")
            counts.append(slow.checks)
    assert counts == [1, 1, 1, 2]


async def test_a_failure_is_never_remembered():
    slow = SlowHash()
    async with _verifying() as verifier:
        for _ in range(3):
            assert not await verifier.verify(CLAIM, slow.password, "wrong")
    assert slow.checks == 3


@pytest.mark.parametrize(
    ("claim", "text", "offered"),
    [
        (Claim("staff", "ben"), "hash", "right"),
        (Claim("other", "ann"), "hash", "right"),
        (CLAIM, "changed", "right"),
        (CLAIM, "hash", "wrong"),
        (Claim("staffa", "nn"), "hash", "right"),
    ],
)
async def test_a_remembered_success_counts_for_the_same_claim_only(claim, text, offered):
    """Another provider, user, hash or password is checked anew, even if the concatenated texts are equal."""
    first, second = SlowHash(), SlowHash(text)
    async with _verifying() as verifier:
        await verifier.verify(CLAIM, first.password, "right")
        await verifier.verify(claim, second.password, offered)
    assert second.checks == 1


async def test_the_number_of_remembered_successes_is_limited():
    slow = SlowHash()
    async with _verifying(remembered=2) as verifier:
        for name in ("ann", "ben", "cat", "cat", "ben", "ann"):
            await verifier.verify(Claim("staff", name), slow.password, "right")
    assert slow.checks == 4


async def test_concurrent_requests_with_one_password_share_its_check():
    slow = SlowHash(waiting=True)
    async with _verifying(threads=1) as verifier:
        checks = [asyncio.ensure_future(verifier.verify(CLAIM, slow.password, "right")) for _ in range(20)]
        await asyncio.to_thread(slow.started.acquire)
        slow.go.set()
        assert await asyncio.gather(*checks) == [True] * 20
    assert slow.checks == 1


async def test_a_cancelled_request_leaves_the_shared_check_running():
    """If one of two requests that wait for a check is cancelled, the other one gets its result."""
    slow = SlowHash(waiting=True)
    async with _verifying() as verifier:
        first, second = (asyncio.ensure_future(verifier.verify(CLAIM, slow.password, "right")) for _ in range(2))
        await asyncio.to_thread(slow.started.acquire)
        first.cancel()
        slow.go.set()
        first, second = await asyncio.gather(first, second, return_exceptions=True)
    assert isinstance(first, asyncio.CancelledError)
    assert second is True


async def _order(claims, waiting=32):
    """Verifies each claim with its password in turn while one thread is busy; returns the order, and the results."""
    slow, order = SlowHash(waiting=True), []

    def verify(text, offered):
        order.append(offered)
        return slow.password.matches(offered)

    async with _verifying(threads=1, waiting=waiting) as verifier:
        password = FakeHash("hash", verify)
        checks = [asyncio.ensure_future(verifier.verify(CLAIM, password, "busy"))]
        await asyncio.to_thread(slow.started.acquire)
        for claim, offered in claims:
            checks.append(asyncio.ensure_future(verifier.verify(claim, password, offered)))
            await asyncio.sleep(0)
        slow.go.set()
        results = await asyncio.gather(*checks, return_exceptions=True)
    return order[1:], results[1:]


async def test_clients_take_turns():
    """Clients take turns in the order in which they came, and each one's passwords are checked in order."""
    order, _ = await _order(
        [(Claim("staff", "ann", f"::{text[0]}:0:0:0:1"), text) for text in ("a1", "a2", "a3", "b1", "b2", "c1")]
    )
    assert order == ["a1", "b1", "c1", "a2", "b2", "a3"]


@pytest.mark.parametrize("name", ["ann", "mallory"])
@pytest.mark.parametrize(
    "addresses", [["192.0.2.1"], [f"192.0.2.{n}" for n in range(16)], ["2001:db8::1", "2001:db8::2"]]
)
async def test_wrong_passwords_from_elsewhere_never_turn_a_right_one_away(name, addresses):
    """However many wrong passwords wait, of the same name too, a right one from another address is not refused.

    Of each other client at most one is checked before it.
    """
    wrong = [(Claim("staff", name, addresses[n % len(addresses)]), f"wrong {n}") for n in range(1000)]
    order, results = await _order([*wrong, (Claim("staff", "ann", "198.51.100.1"), "right"), *wrong])
    assert results[1000] is True
    assert order.index("right") <= len(addresses)


async def test_the_checks_of_one_client_that_wait_are_limited():
    """A client that offers too many passwords at once is refused until some are checked."""
    wrong = [(Claim("staff", "ann", f"2001:db8::{n}"), f"wrong {n}") for n in range(6)]
    _, results = await _order(wrong, waiting=4)
    assert [type(each) for each in results] == [bool] * 4 + [AuthBusy] * 2


async def test_a_password_whose_client_has_left_is_not_checked():
    """A check that nobody waits for any more is dropped: clients that come and go leave nothing behind."""
    slow = SlowHash(waiting=True)
    async with _verifying(threads=1) as verifier:
        running = asyncio.ensure_future(verifier.verify(CLAIM, slow.password, "right"))
        await asyncio.to_thread(slow.started.acquire)
        for number in range(100):
            check = asyncio.ensure_future(verifier.verify(CLAIM, slow.password, f"wrong {number}"))
            await asyncio.sleep(0)
            check.cancel()
            await asyncio.gather(check, return_exceptions=True)
        slow.go.set()
        assert await running
    assert slow.checks == 1


async def test_closing_refuses_waiting_checks():
    slow = SlowHash(waiting=True)
    async with _verifying(threads=1) as verifier:
        checks = [asyncio.ensure_future(verifier.verify(CLAIM, slow.password, each)) for each in ("right", "wrong")]
        await asyncio.to_thread(slow.started.acquire)
        slow.go.set()
        await verifier.close()
        found = await asyncio.gather(*checks, return_exceptions=True)
    assert [type(result) for result in found] == [bool, AuthBusy]


async def test_no_offered_password_is_kept():
    """A verifier remembers digests: none of its attributes contains a password or a name."""
    async with _verifying() as verifier:
        await verifier.verify(CLAIM, SlowHash().password, "right")
        attributes = {name: repr(value) for name, value in vars(verifier).items()}
    assert all("right'" not in text and "ann" not in text for text in attributes.values())
    assert len(attributes["_right_until"]) > len("OrderedDict()")


async def test_an_error_while_hashing_is_not_remembered():
    """An error while hashing is raised to the request that waits, and the next request tries again."""
    slow = SlowHash()

    def fail(text, offered):
        raise MemoryError

    async with _verifying() as verifier:
        with pytest.raises(MemoryError):
            await verifier.verify(CLAIM, FakeHash("hash", fail), "right")
        assert await verifier.verify(CLAIM, slow.password, "right")
    assert slow.checks == 1


async def test_a_check_of_an_unlisted_name_takes_as_long():
    """A name that is not listed costs a hash of another user each time, even with the right password of that user."""
    slow = SlowHash()
    async with _verifying() as verifier:
        for _ in range(3):
            assert not await verifier.verify(Claim("staff", "eve"), None, "right", [slow.password])
        assert not await verifier.verify(Claim("staff", "eve"), None, "right")
    assert slow.checks == 3
