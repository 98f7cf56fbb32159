"""Sets of captures and sweeps, divided into tasks for an engine.

``recoup.daft`` and ``recoup.ray`` hand these tasks to their engines. Everything else is the same for both:

===============  ==============================================================================
``storage``      object stores and files: list, fetch, write whole or not at all
``chains``       which files belong to one capture point, by name or by time, and their order
``request``      what is asked of a set of captures, and the columns of the answer
``tasks``        what engines run: chains, so many that they are worth a task
``chain_run``    the analysis of the chains of a task, from file to file
``fetched``      files on this machine while they are read; the next ones are fetched meanwhile
``partitioned``  a chain too long for one worker, divided by connection
``checkpoint``   what an interrupted analysis of a chain goes on from
``survey``       when each file begins and ends, to find chains by time
``sweeps``       the cells of a sweep
``portable``     tasks as bytes, which say what is missing on a worker
===============  ==============================================================================
"""
