"""Signs users in: an authenticator turns the credentials of a request into a user, or into a challenge."""
