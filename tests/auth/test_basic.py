import asyncio
from base64 import b64encode

import bcrypt
import pytest

from tornado_proxy.auth.authenticator import Challenge, SignIn
from tornado_proxy.auth.basic import BasicAuthenticator, basic_authenticators
from tornado_proxy.auth.passwords import UnreadableHash
from tornado_proxy.auth.verifier import Verifier
from tornado_proxy.config.model import BasicUser, Bucket, Mount, Resource, Settings, Target, TargetList
from tornado_proxy.config.providers import BasicProvider
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.access import SignedIn
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
        ([_basic("eve:plain")], "nobody of the name that was sent is listed"),
        ([_basic("Ann:plain")], "nobody of the name that was sent is listed"),
        ([_basic(":plain")], "the user's name is empty"),
        ([_basic("../ann:plain")], "the user's name contains a `/`"),
        ([_basic("..:plain")], "the user's name contains a `.` or `..` segment"),
        ([_basic(".:plain")], "the user's name contains a `.` or `..` segment"),
        ([_basic("a\x9bnn:plain")], "the user's name contains a control character"),
    ],
)
def test_anything_else_is_asked_for_credentials(headers, reason):
    """Absent, malformed or wrong credentials, and names that are no single segment, are a 401 with a challenge."""
    assert _asked(*headers) == Challenge(401, reason, ASK)


def test_a_user_whom_the_guard_does_not_list_is_asked_again():
    """Another resource's user does not pass: the challenge is the same as for a wrong password."""
    assert _asked(_basic("ben:wörd:2"), guard=SignedIn("staff", (ANN,))) == Challenge(
        401, "nobody of the name that was sent is listed", ASK
    )


def test_a_guard_without_users_lets_nobody_in():
    """An empty list is a list: nobody is on it."""
    assert _asked(_basic("ann:plain"), guard=SignedIn("staff", ())) == Challenge(
        401, "nobody of the name that was sent is listed", ASK
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
    assert isinstance(_asked(_basic(f"{name}:wrong"), users=(ANN, BEN, cat)), Challenge)
    assert sorted(computed) == [b"$2b$04$", b"$2b$05$"]


def test_a_hash_that_cannot_be_read_is_told_at_load():
    """A broken hash keeps a configuration from being used, and the message says whose it is and where, not what."""
    eve = BasicUser("eve", Secret("the environment variable `EVE`", "$2b$broken"))
    with pytest.raises(UnreadableHash) as caught:
        BasicAuthenticator(BasicProvider("staff", "Files"), [eve], Verifier())
    assert str(caught.value).startswith("the password of `eve` in the environment variable `EVE`: ")
    assert "broken" not in str(caught.value)


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
        return signed_in, asked.header

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
