"""What templates insert into keys that a client chooses and that may span segments: headers, queries, emails, claims.

An *insertion* is one such value where it becomes part of the result: not where it is only asked about, nor where a
condition has compared it with what is allowed, nor where its slashes are taken out.
"""
