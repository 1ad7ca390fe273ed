"""What happens is emitted once, as an event; the access log, the service log and the metrics listen.

No event holds a secret: neither credentials nor a query.
"""
