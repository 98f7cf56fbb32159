"""Values as bytes for workers. A worker that cannot read them says what it lacks: an engine's own message names a module only."""

from __future__ import annotations

import pickle

import recoup


def _loader():
    # cloudpickle, which the engines use, sends a function within a function as code. So it runs without this package.
    def load(content: bytes, version: str):
        import pickle
        import socket

        try:
            import recoup

            found = recoup.__version__
        except ImportError as error:
            found = f"none ({error})"
        if found != version:
            raise RuntimeError(
                f"worker {socket.gethostname()}: needs the Python package recoup {version}, found {found}: "
                f"install recoup=={version} there, or give Ray runtime_env={{'pip': ['recoup=={version}']}}"
            )
        make, arguments = pickle.loads(content)
        return make(*arguments)

    return load


#: What :func:`dumps` wrote, as a value again: ``load(content, version)``.
load = _loader()


def dumps(make, *arguments) -> tuple[bytes, str]:
    """The arguments of :func:`load` for the value ``make(*arguments)``."""
    return pickle.dumps((make, arguments)), recoup.__version__
