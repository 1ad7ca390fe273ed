"""An HTTP front for S3 buckets: a request path becomes a key, rules in files may rewrite it, S3 is asked."""
