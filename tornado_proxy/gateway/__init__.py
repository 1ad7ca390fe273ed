"""Tornado at the edge: facts of a request in, a plan performed, bytes out; every failure is a row of one table."""
