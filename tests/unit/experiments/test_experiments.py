"""The names of the package."""

import pytest

from goalbound import experiments
from goalbound.experiments.results import Results, load


def test_the_package_has_load():
    assert experiments.load is load
    assert experiments.Results is Results
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        experiments.lode  # noqa: B018
