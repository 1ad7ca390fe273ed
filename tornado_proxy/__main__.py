"""`python -m tornado_proxy` is the command."""

import sys

from tornado_proxy.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
