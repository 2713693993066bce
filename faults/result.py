"""What a part found."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Result:
    """What a part did and found.

    Attributes:
        name: of the part.
        counts: what was done, in words and numbers.
        faults: what should not have been; empty: all is well.
        skipped: why it could not be done here; empty: it was.
    """

    name: str
    counts: dict[str, float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    skipped: str = ""

    def check(self, fine: bool, otherwise: str) -> None:
        """Note a fault unless it is fine."""
        if not fine:
            self.faults.append(otherwise)

    def add(self, name: str, count: float = 1) -> None:
        """Count something."""
        self.counts[name] = self.counts.get(name, 0) + count

    @property
    def held(self) -> bool:
        """Whether all is well."""
        return not self.faults

    def __str__(self) -> str:
        if self.skipped:
            return f"{self.name}: skipped: {self.skipped}"
        done = ", ".join(f"{count:g} {name}" for name, count in self.counts.items())
        return f"{self.name}: {'held' if self.held else 'FAILED'}; {done}" + "".join(
            f"\n  {one}" for one in self.faults[:10]
        )
