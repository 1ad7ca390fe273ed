"""Events, and their listeners: the access log, the service log, metrics, traces and webhooks.

No event holds a secret: neither credentials nor a query.
"""
