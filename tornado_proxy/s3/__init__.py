"""Buckets of S3: reads on the event loop or in threads, writes through boto3 in threads."""
