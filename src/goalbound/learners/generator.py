"""The state of a generator, as JSON can say it."""

from __future__ import annotations

from typing import Any

import numpy as np

from goalbound.errors import FileFormatError

_KINDS = {
    kind.__name__: kind
    for kind in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)
}


def state_of(rng: np.random.Generator) -> dict[str, Any]:
    """The state of the generator, arrays as lists.

    >>> generator_from(state_of(np.random.default_rng(3))).random() == np.random.default_rng(3).random()
    True
    """
    return _plain(rng.bit_generator.state)


def generator_from(state: Any) -> np.random.Generator:
    """A generator in a state that :func:`state_of` gave."""
    if not isinstance(state, dict) or state.get("bit_generator") not in _KINDS:
        raise FileFormatError(f"the generator is {state!r:.200}; there are {', '.join(_KINDS)}")
    bits = _KINDS[state["bit_generator"]](0)
    bits.state = _as_before(state, bits.state)
    return np.random.Generator(bits)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _as_before(value: Any, like: Any) -> Any:
    """Lists become arrays where a state has them; anything of another form is an error."""
    if isinstance(like, dict):
        if not isinstance(value, dict) or set(value) != set(like):
            raise FileFormatError(f"the state of the generator is {value!r:.200}; it needs {sorted(like)}")
        return {key: _as_before(value[key], like[key]) for key in like}
    if isinstance(like, np.ndarray):
        array = np.array(value, dtype=like.dtype)
        if array.shape != like.shape:
            raise FileFormatError(f"the state of the generator has an array of shape {array.shape}, not {like.shape}")
        return array
    if type(value) is not type(_plain(like)):
        raise FileFormatError(f"the state of the generator holds {value!r:.200}")
    return value
