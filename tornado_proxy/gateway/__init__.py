"""Tornado at the edge: facts of a request in, a plan performed, bytes out; every failure is a row of one table.

Nouns: a *generation* is what a request is answered with, from its start to its end; a *connection* reads requests and
carries answers; a *body* is what a client sends, at the pace at which it is taken; an *exchange* is one request and its
answer; an *outcome* is an *answer* or a *refusal*; a *reply* is an answer on its way.
"""
