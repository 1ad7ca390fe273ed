"""Signs users in: an authenticator turns the credentials of a request into a user, or into a challenge.

An *authenticator* is one way to sign in; a *challenge* asks for credentials; a *verifier* checks passwords in
threads.
"""
