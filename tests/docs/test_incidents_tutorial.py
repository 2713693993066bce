"""The tutorial about incidents runs from top to bottom, and prints what the page says."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from goalbound.adapters.covariates import map_digest
from goalbound.jit.compile import compiled_ahead
from tests.support.arithmetic import recorded_arithmetic
from tests.support.documents import ROOT


@pytest.fixture(scope="module")
def maker() -> Any:
    spec = importlib.util.spec_from_file_location("make_incidents", ROOT / "docs" / "tutorials" / "make_incidents.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page(maker: Any) -> str:
    text: str = maker.PAGE.read_text(encoding="utf-8")
    return text


@pytest.fixture(scope="module")
def run(maker: Any, page: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, list[str]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("incidents"))
        with compiled_ahead():
            names, printed = maker.run_page(page)
    return names, printed


@recorded_arithmetic()
def test_every_block_prints_what_the_page_shows(maker: Any, page: str, run: tuple[dict, list[str]]) -> None:
    shown = [found["text"] for found in maker.BLOCK.finditer(page)]
    assert len(shown) > 10
    assert all(text is None or text.strip() for text in shown)
    assert [text for text in shown if text is not None] == [
        out for out, text in zip(run[1], shown, strict=True) if text is not None
    ]


def test_the_truth_of_the_page_lies_between_its_bounds(run: tuple[dict, list[str]]) -> None:
    names, _ = run
    bounds, exact = names["bounds"], names["evaluate"](names["problem"].at(names["night"]), names["bounds"].policy)
    assert bounds.proven
    assert (bounds.lower <= exact.values).all()
    assert (exact.values <= bounds.upper).all()
    assert np.isfinite(bounds.upper).all()


def test_the_loaded_learner_has_the_open_cases_of_the_page(run: tuple[dict, list[str]]) -> None:
    names, _ = run
    assert [one.id for one in names["again"].open_episodes] == ["case 17", "case 18", "case 19"]
    assert map_digest(names["again"].map) == map_digest(names["day"])
