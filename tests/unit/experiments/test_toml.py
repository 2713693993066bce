"""What is written as TOML is read back as it was; what TOML cannot hold is an error."""

import tomllib

import pytest

pytest.importorskip("tomli_w")

from goalbound.errors import InputError
from goalbound.experiments.toml import toml_text


def test_awkward_values_survive_the_writing_of_a_spec():
    values = {
        "text": 'a "quoted" \\ line\nand \x7f é',
        "numbers": [1, 1e-9, -0.5, 1e300],
        "flags": [True, False],
        "none": [],
        "nested": [[1.0, 0.0], [0.0, 1.0]],
        "losses": {"law": "bounded", "spread": 0.5},
        "grid": {"learners.scale": [1.0, 0.1]},
        "things": [{"use": "a", "table": {"key with space": 1}}, {"use": "b"}],
    }

    assert tomllib.loads(toml_text(values)) == values
    with pytest.raises(InputError, match="'NoneType' is not TOML serializable; TOML has texts"):
        toml_text({"nothing": None})
