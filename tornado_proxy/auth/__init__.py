"""Who asks: an authenticator turns a request's credentials into a user, or says how to ask for them.

Nouns: a *guard* (of routing) says who may; an *authenticator* is one way to sign in; a *challenge* asks for
credentials; a *password* is a secret or its hash; the *passwords* in force are checked off the event loop.
"""
