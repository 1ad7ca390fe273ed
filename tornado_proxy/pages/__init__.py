"""The pages: listings, errors, the answers to uploads and the status page, as HTML, JSON or text.

A *form* is the format of an answer, chosen by the client. A *listing* is a page of a directory, made of *lines*. A
*failure* is the public part of an error. A *rendering* is bytes with their headers. Links are made from the request
path and a line's name, never from a rewritten or prefixed key.
"""
