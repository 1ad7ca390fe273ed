"""Who asks: an authenticator turns a request's credentials into a user, or says how to ask for them."""
