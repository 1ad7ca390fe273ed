"""Turns a request into a plan: target, access, object key, and the attempts in order. Pure.

`decide` is the one way from a `Request` to its `Decision`; the other modules hold the steps, and `trace` explains one.
"""
