"""Learners that are shown something else than the context: a function of it, nothing, or its cell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import groupby
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.around.around import VERSION, Around, bytes_of, can_be_saved, loaded_from, read_by, takes
from goalbound.errors import ArgumentError, FileFormatError, InputError, LearnerError
from goalbound.learners.card import CELLS, MAPPED, NOTHING, wrapped_card
from goalbound.learners.checks import check_log_support, one_component
from goalbound.learners.copying import deep_copy
from goalbound.learners.episode_loop import rows_of
from goalbound.learners.own_card import Card
from goalbound.learners.protocol import Episode, SimulatedEnvironment
from goalbound.models import Step
from goalbound.models.files.array_file import FORMAT, MOST_ARRAYS, check_keys, read_array_file, write_array_file
from goalbound.models.files.io import LIMIT, as_format_errors
from goalbound.models.files.saved_files import SavedFiles
from goalbound.models.simulated import EpisodeResults
from goalbound.models.step import LogView, said_of_steps, step_parts
from goalbound.models.validation import (
    check_array,
    check_callable,
    check_distribution,
    check_generator,
    check_size,
    set_readonly,
    short_repr,
)

BEFORE_WRONG = " (the steps before it were learned)"

Floats = NDArray[np.float64]


class MappedContexts(Around):
    """Plays contextual problems with a learner that sees the contexts through a function.

    The environment mixes by the true context [d]; the learner is shown ``see(context)`` [d'], a point of a simplex.
    So the price of a poorer description of the same contexts can be measured in exact regret.

    Args:
        learner: any learner, for contexts of d' entries.
        see: a function from a context [d] to [d'], or a matrix [d, d'] whose rows are points of the simplex
            (``see(context) = context @ matrix``).

    Where the learner has a compiled loop that takes ``shown=``, so has this one. A file holds the learner inside only;
    ``MappedContexts(...).restored(path)`` goes on from it.

    >>> from goalbound import LRCSSP, Support
    >>> merged = MappedContexts(LRCSSP(Support.full(2, 2), 2, loss_floor=0.1), [[1, 0], [0, 1], [0, 1]])
    >>> merged.begin([0.5, 0.25, 0.25]).context
    array([0.5, 0.5])
    """

    card = Card(lambda wrapper: wrapped_card(wrapper.inner, MAPPED))
    _hidden = ("play_episodes", "context_size")
    _what = "learner that sees contexts as this one does"
    _difference = "its contexts through another function or matrix, or nothing tells that it is the same"

    def __init__(self, learner: Any, see: Callable[[Floats], ArrayLike] | ArrayLike) -> None:
        super().__init__(learner)
        self.see = see if callable(see) else _checked_matrix(see)
        loop = getattr(learner, "play_episodes", None)
        if loop is not None and takes(loop, "shown"):
            self.play_episodes = self._play_episodes

    def _see(self, context: Any) -> Any:
        weights = check_array(context, "context", (None,), "[d], the weights of the components")
        if callable(self.see):
            return np.asarray(self.see(weights), dtype=np.float64)
        if len(weights) != len(self.see):
            raise ArgumentError(f"the context has shape {weights.shape}; see is a matrix for {len(self.see)} entries")
        return check_distribution(weights, "context", len(self.see), "component") @ self.see

    def _play_episodes(
        self,
        environment: SimulatedEnvironment,
        contexts: Floats,
        values: Floats,
        *,
        step_limit: int,
        results: EpisodeResults,
    ) -> None:
        """Play by the compiled loop of the learner; the environment has the true contexts."""
        # One at a time: what a function makes of a whole table may differ in the last bit.
        shown = np.array([self._shown(context, f"see(contexts[{row}])") for row, context in enumerate(contexts)])
        self.inner.play_episodes(
            environment, contexts, values, step_limit=step_limit, results=results, shown=set_readonly(shown)
        )

    def _shown(self, context: Floats, name: str) -> Floats:
        """Return what is seen of a context, checked, as the compiled loop checks nothing."""
        seen = check_array(self._see(context), name, (None,), "[d'], one point of the simplex")
        return check_distribution(seen, name, len(seen), "component")

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the learner inside, as it saves itself; what it sees through is not in the file."""
        self.inner.save(path, **({"overwrite": True} if overwrite and takes(self.inner.save, "overwrite") else {}))

    def restored(self, path: str | PathLike[str], *, limit: int = LIMIT) -> Self:
        """Return one that sees as this one does, and goes on from the file of :meth:`save`."""
        return self._again(read_by(self.inner.restored, path, limit))


class ContextBlind(MappedContexts):
    """Plays contextual problems with a learner of one component: a constant map of the contexts.

    What it learns is the average over the contexts that came, and the policy that is best on average may do badly, or
    even never arrive, under each of them: this is the price of not seeing them.

    >>> from goalbound import LRCSSP, Support
    >>> blind = ContextBlind(LRCSSP(Support.full(2, 2), 1, loss_floor=0.1))
    >>> blind.begin([0.3, 0.7]).context
    array([1.])
    """

    card = Card(lambda wrapper: wrapped_card(wrapper.inner, NOTHING))

    def __init__(self, learner: Any) -> None:
        super().__init__(one_component(learner), _constant)

    def _see(self, context: Any) -> Any:
        return _constant(context)


def _constant(context: Any) -> Floats:
    return np.ones(1)


def _checked_matrix(see: ArrayLike) -> Floats:
    rows = check_array(see, "see", (None, None), "a function of a context, or a matrix [d, d']")
    points = [check_distribution(row, f"see[{i}]", len(row), "component") for i, row in enumerate(rows)]
    return set_readonly(np.array(points))


class Discretized:
    """Plays contextual problems with one context-free learner for each cell of the contexts.

    Each entry of the context is cut into equal parts; contexts whose entries lie in the same parts share a cell, and a
    learner, which is made when the first of them comes. Within a cell the learner meets an average, so its regret keeps
    a linear part, smaller with more parts; and nothing that one cell learns helps another.

    Args:
        make: makes the learner of a new cell from ``rng=``, its own stream, with all that is to be around it. A
            function of a module, where the learner is to be pickled.
        context_size: d.
        parts: into how many parts an entry is cut: one-hot contexts need 2.
        rng: the source of the learners' streams; cell number n, in the order of their first contexts, gets child n.

    >>> from goalbound import LRCSSP, Support
    >>> learner = Discretized(lambda rng: LRCSSP(Support.full(2, 2), 1, loss_floor=0.1), 2, parts=4)
    >>> _ = learner.begin([0.3, 0.7]), learner.begin([0.4, 0.6]), learner.begin([1.0, 0.0])
    >>> list(learner.cells)
    [(1, 2), (3, 0)]
    """

    card = Card(lambda wrapper: wrapped_card(next(iter(wrapper.cells.values()), None) or wrapper.example(), CELLS))

    def __init__(
        self, make: Callable[..., Any], context_size: int, *, parts: int = 4, rng: np.random.Generator | None = None
    ) -> None:
        self.context_size = check_size(context_size, "context_size", "a context has at least one entry")
        self.parts = check_size(parts, "parts", "an entry has at least one part")
        check_callable(make, "make", "a function of rng= that makes the learner of a cell")
        self.cells: dict[tuple[int, ...], Any] = {}
        """The learners by cell, in the order of their first contexts."""
        self._make = make
        self._files = SavedFiles()
        self._seeds: Any = (np.random.default_rng() if rng is None else check_generator(rng)).bit_generator.seed_seq

    __copy__ = deep_copy  # all that learns is in the learners inside

    def __getattr__(self, name: str) -> Any:
        if name not in ("plan", "explain"):  # of the learner of a cell
            raise AttributeError(f"a Discretized has no {name}; the learners of its cells may have one: cells")
        return lambda context, *given, **named: getattr(self._at(self.cell(context)), name)([1.0], *given, **named)

    def cell(self, context: ArrayLike) -> tuple[int, ...]:
        """Return the part that each entry of a context lies in."""
        weights = check_distribution(context, "context", self.context_size, "component")
        return tuple(np.minimum((self.parts * weights).astype(int), self.parts - 1).tolist())

    def example(self) -> Any:
        """Return a learner as the next new cell would get it."""
        return self._made(len(self.cells))

    def _made(self, number: int) -> Any:
        """Return the learner of the cell with this number, as it is at the beginning."""
        seed = np.random.SeedSequence(self._seeds.entropy, spawn_key=(*self._seeds.spawn_key, number))
        return one_component(self._make(rng=np.random.default_rng(seed)))

    def _at(self, cell: tuple[int, ...]) -> Any:
        """Return the learner of a cell, made if there is none, and not kept."""
        return self.cells[cell] if cell in self.cells else self.example()

    @property
    def open_episodes(self) -> tuple[Any, ...]:
        """The episodes that were begun and have not ended, cell by cell, in each in the order of begin."""
        return tuple(episode for learner in self.cells.values() for episode in learner.open_episodes)

    def begin(self, context: ArrayLike, *, id: str | int | None = None) -> Episode:
        """Begin an episode of the cell's learner; ``id`` is for learners that know one, and is unique over all
        cells."""
        cell = self.cell(context)
        if id is not None and id in self._ids():
            raise LearnerError(f"an open episode has the id {short_repr(id)} already; episode(id) is that one")
        learner = self.cells[cell] = self._at(cell)
        episode: Episode = learner.begin([1.0]) if id is None else learner.begin([1.0], id=id)
        return episode

    def episode(self, id: str | int) -> Any:
        """Return the open episode, of whatever cell, that was begun with this id."""
        ids = self._ids()
        if id not in ids:
            raise LearnerError(f"no open episode has the id {short_repr(id)}; there are {short_repr(list(ids))}")
        return ids[id]

    def _ids(self) -> dict[str | int, Any]:
        ids = {getattr(episode, "id", None): episode for episode in self.open_episodes}
        return {id: episode for id, episode in ids.items() if id is not None}

    def learn(self, context: ArrayLike, step: Step) -> None:
        """Let the cell's learner learn from a step that anyone made."""
        self._learn(context, step, {})

    def _learn(self, context: Any, step: Any, said: dict[str, Any]) -> None:
        """:meth:`learn`, of a log that says this of itself. A step that is an error makes no cell."""
        cell = self.cell(context)
        learner = self._at(cell)
        if said:
            learner.learn_log(LogView([(context, step)], lambda _, step: ([1.0], step), **said))
        else:
            learner.learn([1.0], step)
        self.cells[cell] = learner

    def learn_log(self, log: Iterable[tuple[ArrayLike, Step]]) -> int:
        """:meth:`learn` from ``(context, step)`` by ``(context, step)`` in the order of time; how many.

        A wrong step is an error that says its number, from 0 on; those before it are learned. A
        :class:`goalbound.logs.Log` was read with the states and actions of the learners; another one is an error. It
        does not say which losses were clipped, so the first ones at the cap count as such.
        """
        learned, clipped, said = 0, getattr(log, "clipped", 0), said_of_steps(log)
        of_cells = getattr(self.example(), "support", None)
        if of_cells is not None:
            check_log_support(of_cells, getattr(log, "support", None))
        for item in log:
            try:
                if not isinstance(item, tuple | list) or len(item) != 2:
                    raise ArgumentError(f"it is {short_repr(item)}; give (context, Step(...))")
                context, step = item
                is_clipped = clipped > 0 and step_parts(step)[2] == 1.0
                self._learn(context, step, {**said, "clipped": int(is_clipped)} if said else said)
                clipped -= is_clipped
            except InputError as error:
                text = str(error).removeprefix("step 0 of the log, from 0 on: ").removesuffix(BEFORE_WRONG)
                raise type(error)(f"step {learned} of the log, from 0 on: {text}{BEFORE_WRONG}") from None
            learned += 1
        return learned

    def anew(self) -> Discretized:
        """Return one with the same cells, in none of which anything was seen."""
        rng = np.random.default_rng(self._seeds)
        return Discretized(self._make, self.context_size, parts=self.parts, rng=rng)

    def play_episodes(
        self,
        environment: SimulatedEnvironment,
        contexts: Floats,
        values: Floats,
        *,
        step_limit: int,
        results: EpisodeResults,
    ) -> None:
        """Play by the compiled loops of the cells' learners, episode by episode in the order of the contexts."""
        first = 0
        for cell, alike in groupby([self.cell(context) for context in contexts]):
            last = first + len(list(alike))
            learner = self.cells[cell] = self._at(cell)
            learner.play_episodes(
                environment,
                contexts[first:last],
                values[first:last],
                step_limit=step_limit,
                results=rows_of(results, first, last),
                shown=set_readonly(np.ones((last - first, 1))),
            )
            first = last

    def check_simulated(self) -> None:
        """Raise an error where the learners of the cells have a unit: environments have losses in [0, 1]."""
        getattr(self.example(), "check_simulated", lambda: None)()

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the learners of all cells to one file; a file of someone else is replaced only with ``overwrite``."""
        if not can_be_saved(self.example()):
            raise ArgumentError("the learners of the cells cannot be saved; they need save(path) and restored(path)")
        if len(self.cells) > MOST_ARRAYS:
            raise ArgumentError(f"{len(self.cells)} cells; one file holds at most {MOST_ARRAYS}: cut into fewer parts")
        header = {"format": FORMAT, "version": VERSION, "kind": "Discretized", "context_size": self.context_size}
        header |= {"parts": self.parts, "cells": [list(cell) for cell in self.cells]}
        arrays = {f"cell_{n}": bytes_of(learner) for n, learner in enumerate(self.cells.values())}
        write_array_file(path, header, arrays, files=self._files, overwrite=overwrite)

    def restored(self, path: str | PathLike[str], *, limit: int = LIMIT) -> Discretized:
        """Return a learner made like this one that goes on from a file of at most ``limit`` bytes."""
        again, types = self.anew(), {"cell_[0-9]{1,7}": "|u1"}
        header, arrays = read_array_file(
            path, kind="Discretized", versions=[VERSION], arrays=types, limit=limit, files=again._files
        )
        with as_format_errors(path, "checkpoint"):
            check_keys(header, ("context_size", "parts", "cells"))
            if (header["context_size"], header["parts"]) != (self.context_size, self.parts):
                raise FileFormatError(
                    f"it was written for {header['context_size']!r} components in {header['parts']!r} parts, and this "
                    f"learner has {self.context_size} in {self.parts}; make it with the same"
                )
            for n, cell in enumerate(self._checked_cells(header["cells"], arrays)):
                again.cells[cell] = loaded_from(arrays[f"cell_{n}"], self._made(n).restored, limit=limit)
        return again

    def _checked_cells(self, cells: Any, arrays: Collection[str]) -> list[tuple[int, ...]]:
        fine = isinstance(cells, list) and all(isinstance(cell, list) for cell in cells)
        fine = fine and all(len(cell) == self.context_size for cell in cells)
        if not fine or not all(type(part) is int and 0 <= part < self.parts for cell in cells for part in cell):
            raise FileFormatError(f"cells is {cells!r:.200}; each is a list of {self.context_size} parts")
        keys = [tuple(cell) for cell in cells]
        if len(set(keys)) != len(keys) or set(arrays) != {f"cell_{n}" for n in range(len(keys))}:
            raise FileFormatError("the cells and their learners do not belong together")
        return keys

    def __repr__(self) -> str:
        return f"Discretized({self.context_size} components in {self.parts} parts, {len(self.cells)} cells)"
