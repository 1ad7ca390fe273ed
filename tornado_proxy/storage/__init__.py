"""What a store is, and what works with any of them.

A *store* is a bucket behind one protocol; an *object's info* are its headers; an *opened* object has a body to be read
in chunks and closed; a *page* is a part of a listing. Errors are one small tree, and exceptions of libraries do not
leave a store.
"""
