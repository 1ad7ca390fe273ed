"""HTTP at the edge: reads requests, performs their plans, and sends answers.

A *generation* holds everything that answers a request; a *connection* reads requests and writes answers; an *exchange*
is one request and its answer; an *outcome* is an *answer* or a *refusal*; a *reply* sends an answer.
"""
