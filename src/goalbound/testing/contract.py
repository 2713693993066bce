"""The findings of a contract check, reported at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class ContractError(AssertionError):
    """Something does not keep its contract. ``findings`` has one line for each thing that is wrong."""

    def __init__(self, subject: str, findings: tuple[str, ...]) -> None:
        self.findings = findings
        count = "one thing is" if len(findings) == 1 else f"{len(findings)} things are"
        super().__init__("\n- ".join((f"{subject}: {count} wrong", *findings)))


class Stop(Exception):
    """What was found makes the rest of a check meaningless."""


class Findings:
    """Collects what is wrong; :meth:`close` raises if anything is."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.lines: list[str] = []
        self._cause: BaseException | None = None

    def add(self, place: str, wrong: str, remedy: str) -> None:
        """One thing: where, what, and how to fix it."""
        self.lines.append(f"{place}: {wrong}; {remedy}")

    @contextmanager
    def step(self, place: str) -> Iterator[None]:
        """One part of a check. An exception of what is checked is a finding; :class:`Stop` ends the part."""
        try:
            yield
        except Stop:
            pass
        except Exception as error:
            self._cause = self._cause or error
            self.add(place, f"raised {type(error).__name__}: {error}", "the cause of this error shows where")

    def close(self) -> None:
        """Raise a :class:`ContractError` if anything was found."""
        if self.lines:
            raise ContractError(self.subject, tuple(self.lines)) from self._cause
