"""The clients' application: a Tornado handler decides about a request, performs its plan, and sends the answer.

A *generation* holds everything that answers a request; a *handler* answers one; an *outcome* is an *answer* or an
*error answer*.
"""
