"""Types of msgspec are learned in one thread, and everything that decodes into one says so."""

import subprocess
import sys

from tests.kit import source

RACE = '''
import sys, threading, types
import msgspec
from gshtui.system.struct_types import learned
sys.setswitchinterval(1e-6)
SOURCE = """
from __future__ import annotations
import msgspec
class Inner(msgspec.Struct):
    number: int = 0
    names: dict[str, list[str]] = {}
class Row(msgspec.Struct):
    names: list[str]
    inner: list[Inner] = []
class Table(msgspec.Struct):
    rows: list[Row] = []
    named: dict[str, Row] = {}
"""
DATA = {"rows": [{"names": ["a"], "inner": [{"number": 1}]}], "named": {"k": {"names": []}}}
for number in range(100):
    module = types.ModuleType(f"made{number}")
    sys.modules[module.__name__] = module
    exec(SOURCE, module.__dict__)
    ready = threading.Barrier(4)
    def decode(table=module.Table, ready=ready):
        ready.wait()
        assert msgspec.convert(DATA, learned(table)).rows[0].inner[0].number == 1
    threads = [threading.Thread(target=decode) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
'''


def test_two_threads_that_decode_a_type_first_crash_nothing() -> None:
    ran = subprocess.run([sys.executable, "-c", RACE], cwd=source.ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
