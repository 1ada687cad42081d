"""Compiled loops find a place to be kept, or run without, where nothing can be written."""

import subprocess
import sys
import tempfile
from pathlib import Path

from phasefit import _cache_place


def settled(monkeypatch, writable, **environment):
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    found = {"HOME": "/home/none"} | environment
    _cache_place.settle(found, Path("/opt/none"), writable)
    return found


def test_a_place_of_ones_own_choice_is_kept(monkeypatch):
    found = settled(monkeypatch, lambda folder: False, NUMBA_CACHE_DIR="/mine")
    assert found["NUMBA_CACHE_DIR"] == "/mine"


def test_nothing_is_changed_where_numba_finds_a_place(monkeypatch):
    assert "NUMBA_CACHE_DIR" not in settled(monkeypatch, lambda folder: True)


def test_a_read_only_root_gets_a_temporary_place(monkeypatch):
    found = settled(monkeypatch, lambda folder: False)
    assert Path(found["NUMBA_CACHE_DIR"]).is_dir()
    assert "NUMBA_DISABLE_JIT" not in found


def test_without_any_place_the_loops_run_uncompiled_and_that_is_said(monkeypatch, capsys):
    def none():
        raise FileNotFoundError

    monkeypatch.setattr(tempfile, "gettempdir", none)
    found = settled(monkeypatch, lambda folder: False)
    assert found["NUMBA_DISABLE_JIT"] == "1"
    assert "NUMBA_CACHE_DIR" in capsys.readouterr().err


def test_it_happens_before_numba_is_imported():
    code = "import sys, phasefit; assert 'numba' not in sys.modules; import validation, qmodels"
    subprocess.run([sys.executable, "-c", code], check=True)
