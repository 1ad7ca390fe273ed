"""The pages: listings, errors and the answers of uploads, as HTML, JSON or text.

A *form* is the format of an answer, chosen by the client; a *listing* is a page of a directory, made of *lines*; a
*failure* is the public part of an error; a *rendering* is bytes with their headers. Links are made from the request
path and a line's name only, never from a rewritten or prefixed key.
"""
