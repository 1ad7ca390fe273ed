"""Converts s3-proxy's configuration to ours: settings, rule files, pages, and a report on every option.

`options` reads s3-proxy's files; `conversion` converts them with the help of the others and writes the result;
`validation` refuses the files that s3-proxy refuses; `settings`, `pages`, `resources` and `rewrites` each convert one
part; `patterns` and `go_targets` have the proofs about rewrites.

There are two rules. A rewrite is converted only if it is proved to make the same key from the same request. Nothing
that was closed becomes open: if an access rule has no equivalent, the paths that it covered are closed to everyone.
"""
