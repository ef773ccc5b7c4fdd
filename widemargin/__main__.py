"""`python -m widemargin`, for places where the `widemargin` script is not on the path."""

import sys

from widemargin.cli.main import main

sys.exit(main())
