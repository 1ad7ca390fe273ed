"""Events: each is emitted once; the access log, the service log, metrics, traces and webhooks listen.

No event holds a secret: neither credentials nor a query.
"""
