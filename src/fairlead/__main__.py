"""`python -m fairlead` is the `fairlead` command."""

from __future__ import annotations

import sys

from fairlead.cli.main import main

sys.exit(main())
