"""Converts s3-proxy's configuration, and what other servers redirect, with a report on every option and line.

`redirects` writes rules, lists and tests of what `hosting` and `servers` read. The rest is about s3-proxy.

`options` reads s3-proxy's files, by the table `options.toml` and the model of our configuration; `conversion` converts
them with the help of the others and writes the result; `settings`, `resources` and `rewrites` each convert one part;
`patterns` has the proofs about rewrites.

Configurations that s3-proxy refuses or fails on are refused: nothing would run as before. The sources are its packages
pkg/s3-proxy/config and pkg/s3-proxy/server. Its validator does not look into `targets` and `authProviders`, so a
mistake there often fails only when a request needs it.

There are two rules. A rewrite is converted only if it is proved to make the same key from the same request. Nothing
that was closed becomes open: if an access rule has no equivalent, the paths that it covered are closed to everyone.
"""
