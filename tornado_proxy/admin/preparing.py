"""Makes what a start keeps beside byte code, for an installation where the service may not write.

`python -m tornado_proxy.admin.preparing` is run when a package is installed, and when an image is built.
"""

from tornado_proxy.rules.reading import rules_parser

if __name__ == "__main__":
    rules_parser()
