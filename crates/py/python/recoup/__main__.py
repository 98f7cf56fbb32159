"""The program ``recoup``, as ``python -m recoup`` or as the script of the package."""

import os
import signal
import sys

from . import _recoup


def main() -> None:
    """Runs the program with the arguments of this process."""
    # Python's own handlers would wait for an interpreter that is not running.
    for name in ("SIGINT", "SIGTERM"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    name = os.path.basename(sys.argv[0])
    program = name if name != "__main__.py" else "recoup"
    sys.exit(_recoup.main([program, *sys.argv[1:]]))


if __name__ == "__main__":
    main()
