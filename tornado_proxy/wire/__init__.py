"""HTTP/1.1 and HTTP/2 under the application: connections, requests as they arrive, TLS and the PROXY protocol.

It speaks to the application through the interfaces of `tornado.httputil`, as Tornado's own server does.
"""
