"""Buckets behind one protocol.

Nouns: a *store* is a bucket that can be asked; an *object's info* is what its headers say; an *opened* object has a
body to be read in chunks and closed; a *page* is a stretch of a listing. Errors are one small tree, and no exception
of a library crosses this package's border.
"""
