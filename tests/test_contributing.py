"""The variant that CONTRIBUTING.md offers as a template is whole and right."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from operators import registry
from tests import drivers

PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"


@pytest.fixture
def template(tmp_path, monkeypatch):
    """Write the page's variant to a file, load it, and register it beside the real ones."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    file = tmp_path / "one_lock.py"
    file.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("one_lock", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = {(v.family, v.id): v for v in registry.variants()}
    registry.register(found, {}, module.VARIANT, "CONTRIBUTING.md")
    monkeypatch.setattr(registry, "_all_variants", lambda: found)
    return module.VARIANT


@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize("spread", [0, 3])
def test_template_returns_the_total_order(template, threads, spread):
    streams = drivers.random_streams(
        seed=7, inputs=3, tuples=drivers.scaled(2000), keys=5, spread=spread
    )
    (taken,) = drivers.through_gate(template, streams, ahead=2, seed=3, threads=threads)
    timestamp, source, key, value = drivers.in_total_order(streams)
    assert taken.tolist() == [list(row) for row in zip(timestamp, source, key, value, strict=True)]
