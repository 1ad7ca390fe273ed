"""Buckets behind one protocol.

A *store* is a bucket; an *object's info* are its headers; an *opened* object has a body to be read in chunks and
closed; a *page* is a part of a listing. Errors are one small tree, and exceptions of libraries do not leave this
package.
"""
