"""The program of the package, signals, and what other threads see."""

import os
import signal
import subprocess
import sys
import time

import recoup
from program import recoup_program


def test_the_program():
    assert recoup_program("--version").stdout.split()[:2] == ["recoup", recoup.__version__]
    wrong = recoup_program("analyse")
    assert wrong.returncode == 2 and "analyze" in wrong.stderr
    assert recoup_program("explain", "--demo").returncode == 0


def python(code, **more):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, **more)


def begin(*command):
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_an_interrupt_is_a_keyboard_interrupt():
    code = """
import recoup
print("ready", flush=True)
recoup.run("tail-loss", flows=100_000_000, drop="bernoulli:0.02", progress=False)
"""
    process = begin(sys.executable, "-c", code)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert errors.strip().endswith("KeyboardInterrupt")


def test_an_interrupt_ends_the_program():
    process = begin(
        *(sys.executable, "-m", "recoup", "run", "tail-loss", "--flows", "100000000"),
        *("--set", "drop=bernoulli:0.02"),
    )
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT


def test_the_gil_is_released():
    done = python("""
import threading, time, recoup
turns, running = 0, True
def count():
    global turns
    while running:
        turns += 1
        time.sleep(0.001)
thread = threading.Thread(target=count)
thread.start()
begin = time.monotonic()
recoup.run("tail-loss", flows=20_000, drop="bernoulli:0.02", progress=False)
took = time.monotonic() - begin
running = False
thread.join()
assert turns > 50 * took, (turns, took)
""")
    assert done.returncode == 0, done.stderr


def test_progress_needs_no_library(tmp_path):
    for name in ("tqdm", "rich"):
        (tmp_path / f"{name}.py").write_text("raise ImportError")
    paths = [str(tmp_path), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = python("import recoup; recoup.run('tail-loss', flows=2, progress=True)", env=environment)
    assert done.returncode == 0, done.stderr
