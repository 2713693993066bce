"""Problems in files: goalbound's own npz, and UMB and DRN, which model checkers share."""

from typing import TYPE_CHECKING

from goalbound.lazy import load_on_use

if TYPE_CHECKING:
    from goalbound.models.files.drn import read_drn, write_drn
    from goalbound.models.files.formats import load, save
    from goalbound.models.files.npz import read_npz, write_npz
    from goalbound.models.files.umb import read_umb, write_umb

__all__ = ["load", "read_drn", "read_npz", "read_umb", "save", "write_drn", "write_npz", "write_umb"]

load_on_use(
    __name__,
    {
        "goalbound.models.files.drn": "read_drn write_drn",
        "goalbound.models.files.formats": "load save",
        "goalbound.models.files.npz": "read_npz write_npz",
        "goalbound.models.files.umb": "read_umb write_umb",
    },
)
