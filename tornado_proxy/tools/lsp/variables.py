"""What the templates of both larger dialects may read, by the path that reads it, in words.

The tables are compared with what templates really see by the tests, so that the editor needs no template engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tornado_proxy.lang.tree import Dialect

JINJA: Mapping[str, str] = {
    "user": "who is signed in; none where nobody is",
    "user.username": "the name; always one segment of a key",
    "user.kind": "how the user signed in: `BASIC`, `HEADER` or `OIDC`",
    "user.email": "the e-mail address, empty if unknown",
    "user.groups": "the groups that the user is in",
    "user.name": "the full name, empty if unknown",
    "user.given_name": "the given name, empty if unknown",
    "user.family_name": "the family name, empty if unknown",
    "user.email_verified": "whether the provider vouches for the address",
    "request": "the request",
    "request.method": "`GET`, `HEAD`, `PUT` or `DELETE`",
    "request.host": "the host that was asked",
    "request.path": "the whole path, decoded, mount included",
    "request.scheme": "`http` or `https`",
    "request.remote_address": "where the request came from",
    "request.query": "the query's parameters by name, the first value of each",
    "request.headers": "the headers by name, in any case, the first value of each",
    "target": "the target",
    "target.name": "its name",
    "target.bucket": "its bucket",
    "target.bucket.name": "the bucket's name",
    "target.bucket.prefix": "the bucket's prefix, which no key has yet",
    "target.bucket.region": "the bucket's region",
    "target.mount": "where it is mounted",
    "target.mount.host": "the host pattern of its mount",
    "target.mount.path": "the paths of its mount",
    "key": "the key before the rewrite, with its leading slash",
    "groups": "what the groups of the source took, by name and by number",
}

GO: Mapping[str, str] = {
    "User": "who is signed in; nil where nobody is",
    "User.GetEmail": "the e-mail address, empty if unknown",
    "User.GetFamilyName": "the family name, empty if unknown",
    "User.GetGivenName": "the given name, empty if unknown",
    "User.GetGroups": "the groups that the user is in",
    "User.GetIdentifier": "the name, or else the e-mail address",
    "User.GetName": "the full name, empty if unknown",
    "User.GetType": "how the user signed in: `BASIC`, `HEADER` or `OIDC`",
    "User.GetUsername": "the name; always one segment of a key",
    "User.IsEmailVerified": "whether the provider vouches for the address",
    "User.Username": "the name, of users with a password and of those from headers",
    "User.PreferredUsername": "the name, of users from an OpenID provider",
    "User.Email": "the e-mail address, of users from headers or an OpenID provider",
    "User.Groups": "the groups, of users from headers or an OpenID provider",
    "User.Name": "the full name, of users from an OpenID provider",
    "User.GivenName": "the given name, of users from an OpenID provider",
    "User.FamilyName": "the family name, of users from an OpenID provider",
    "User.EmailVerified": "whether the OpenID provider vouches for the address",
    "Request": "the request, as Go's `*http.Request`",
    "Request.Method": "`GET`, `HEAD`, `PUT` or `DELETE`",
    "Request.URL": "the path and the query that were asked for",
    "Request.URL.EscapedFragment": "the fragment, percent-encoded; empty",
    "Request.URL.EscapedPath": "the path, percent-encoded",
    "Request.URL.Hostname": "the host of the URL without its port; empty",
    "Request.URL.IsAbs": "whether the URL has a scheme; false",
    "Request.URL.Port": "the port of the URL; empty",
    "Request.URL.Query": "the query's parameters, a list of values for each",
    "Request.URL.RequestURI": "path and query, as a request line has them",
    "Request.URL.String": "the URL as a text",
    "Request.URL.Scheme": "the URL's scheme; empty",
    "Request.URL.Opaque": "the URL's opaque part; empty",
    "Request.URL.User": "the URL's user; nil",
    "Request.URL.Host": "the URL's host; empty",
    "Request.URL.Path": "the whole path, decoded, mount included",
    "Request.URL.Fragment": "the URL's fragment; empty",
    "Request.URL.RawQuery": "the query as it was sent, without `?`",
    "Request.URL.RawPath": "the path as it was sent, where that differs from the usual form; empty",
    "Request.URL.RawFragment": "the fragment as it was sent; empty",
    "Request.URL.ForceQuery": "whether the URL ends in `?` without a query; false",
    "Request.URL.OmitHost": "whether the URL has an empty host; false",
    "Request.FormValue": 'the first value of a query\'s parameter: `.Request.FormValue "name"`',
    "Request.ProtoAtLeast": "whether the protocol is that new: `.Request.ProtoAtLeast 1 1`",
    "Request.Referer": "the header `Referer`",
    "Request.UserAgent": "the header `User-Agent`",
    "Request.Proto": "`HTTP/1.1`",
    "Request.ProtoMajor": "1",
    "Request.ProtoMinor": "1",
    "Request.Header": 'the headers, a list of values for each: `.Request.Header.Get "X-Team"`',
    "Request.Host": "the host that was asked",
    "Request.RemoteAddr": "where the request came from",
    "Request.RequestURI": "path and query, as a request line has them",
    "Request.TLS": "what is known of TLS; nil for plain HTTP",
    "Target": "the target",
    "Target.Name": "its name",
    "Target.Bucket": "its bucket",
    "Target.Bucket.Name": "the bucket's name",
    "Target.Bucket.Prefix": "the bucket's prefix, which no key has yet",
    "Target.Bucket.Region": "the bucket's region",
    "Target.Bucket.S3Endpoint": "where the bucket is asked for",
    "Target.Bucket.S3ListMaxKeys": "how many keys a listing asks for at once",
    "Target.Bucket.DisableSSL": "whether the bucket is asked without TLS",
    "Target.Mount": "where it is mounted",
    "Target.Mount.Host": "the host pattern of its mount",
    "Target.Mount.Path": "the paths of its mount",
    "Key": "the key before the rewrite, with its leading slash",
    "Groups": "what the groups of the source took, by name and by number",
}

BY_DIALECT: Mapping[Dialect, Mapping[str, str]] = {Dialect.PLAIN: {}, Dialect.JINJA: JINJA, Dialect.GO: GO}
"""The variables of each dialect."""


def fields(dialect: Dialect, path: str) -> Iterator[tuple[str, str]]:
    """What can be read from the variable at a path, or the variables themselves for an empty path, each in words."""
    for each, words in BY_DIALECT[dialect].items():
        parent, _, name = each.rpartition(".")
        if parent == path:
            yield name, words
