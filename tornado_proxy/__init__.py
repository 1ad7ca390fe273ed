"""An HTTP front for S3 buckets whose rules are files: a request path becomes a key, rules may rewrite it, S3 is asked."""
