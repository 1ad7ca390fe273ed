"""Converts another proxy's configuration to this project's: settings, rule files, and a report on every option.

`conversion` reads s3-proxy's files into `options` and drives the rest: `servers`, `targets`, `buckets`, `resources`,
`pages` and `rewrites` each convert one part, and sections of options collect a remark on each; `output` writes our
files and the report.

Two laws hold. A rewrite is carried over only where it is proved to make the same key for the same requests. Nothing
that was closed becomes open: where an access rule has no equivalent, the paths that it covered are closed to everyone.
"""
