from tornado_proxy.auth.authenticator import Authenticator, Challenge
from tornado_proxy.auth.basic import BasicAuthenticator
from tornado_proxy.auth.verifier import Verifier
from tornado_proxy.config.model import BasicProvider


def test_basic_authentication_is_a_way_to_sign_in():
    """The shipped authenticator offers what the protocol asks."""
    authenticator: Authenticator = BasicAuthenticator(BasicProvider("staff", "Files"), [], Verifier())
    assert callable(authenticator.authenticate)


def test_a_challenge_is_a_value():
    """Challenges are compared by what they say."""
    assert Challenge(401, "why") == Challenge(401, "why") != Challenge(401, "another reason")
