"""What happened is told once, as an event; logs, and later metrics and webhooks, listen.

Nouns: an *event* is something that happened, frozen; the *bus* tells it to every *listener*, and none can keep it from
another; a *log* is a listener that writes lines. No event holds a secret: neither credentials nor a query.
"""
