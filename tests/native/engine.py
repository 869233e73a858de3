"""An engine to be killed: starts a command under a guard, names both, and waits for its end.

engine.py LAUNCHER COMMAND...
"""

import os
import signal
import sys
from pathlib import Path

from tests.native import harness

launch = harness.Launch(Path(sys.argv[1]), harness.guarded(harness.command(*sys.argv[2:])))
os.write(1, b"%d %d\n" % (launch.process.pid, launch.pid))  # at once: the command writes there, too
signal.pause()
