"""A report made by hand: its data and its page."""

from __future__ import annotations

import pytest

from goalbound.experiments.report import report_data, report_page
from tests.support.report_cases import case


@pytest.fixture(scope="module")
def data():
    return report_data(**case())


@pytest.fixture(scope="module")
def page(data):
    return report_page(data)
