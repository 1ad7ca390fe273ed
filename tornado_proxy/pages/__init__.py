"""What people and programs see: listings, errors and the answers of uploads, as HTML, JSON or text.

Nouns: a *form* is how an answer is written, chosen by the client; a *listing* is a page of a directory, made of
*lines*; a *failure* is what a client learns of an error; a *rendering* is bytes with their headers. Links are made from
the request path and a line's name only: what a rule or a prefix made of the key is nobody's business here.
"""
