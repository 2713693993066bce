"""Tables of treatments, one for each group of patients, as a contextual problem: groups are components.

The files are those of the sepsis simulator of Oberst and Sontag (clinicalml/gumbel-max-scm, MIT licence). None is
shipped: give the path of yours to :func:`read_patients`.

>>> import tempfile
>>> import numpy as np
>>> from pathlib import Path
>>> sick, dead, home = 0, 1, 2  # one treatment; it works in one group of two
>>> works, fails = [[[0.1, 0.1, 0.8], [0, 1, 0], [0, 0, 1]]], [[[0.6, 0.3, 0.1], [0, 1, 0], [0, 0, 1]]]
>>> with tempfile.TemporaryDirectory() as folder:
...     path = Path(folder) / "table.npz"
...     np.savez(path, tx_mat=[works, fails], reward_of_next_state=[0, -1, 1], p_initial_state=[[1, 0, 0], [1, 0, 0]])
...     print(read_patients(path, groups=["young", "old"]))
2 groups (young, old), 1 live states, 1 treatments
rows summed to 1 within 1.1e-16; states and actions are numbers
"""

from goalbound.adapters.patients.table import DeathPolicy, PatientTable, death_state, read_patients, readmission

__all__ = ["DeathPolicy", "PatientTable", "death_state", "read_patients", "readmission"]
