"""A request becomes a plan: which target, who may use it, which object key, and what to try in which order. Pure.

`decide` is the one way from a `Request` to its `Decision`; the other modules hold the steps, and `trace` explains one.
"""
