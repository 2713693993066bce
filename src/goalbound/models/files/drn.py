"""DRN, the text format of Storm: a header of ``@`` sections, then states, actions and transitions, one per line."""

from __future__ import annotations

import io
import json
import re
from array import array
from collections.abc import Iterator
from os import PathLike
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError
from goalbound.models.amounts import cap_entry, cap_in, cap_of
from goalbound.models.files.explicit_mdp import (
    UNNAMED,
    ExplicitMDP,
    from_ssp,
    select_name,
    sum_rewards,
    to_ssp,
)
from goalbound.models.files.io import LIMIT, as_format_errors, atomic_write, read_bytes, strict_json, warn_if_large
from goalbound.models.ssp import SSP

INITIAL = "init"
NO_LABEL = "__NOLABEL__"
"""What Storm writes for a choice without a name."""

_COMMENT = "// goalbound "
_LABEL = re.compile(r'"([^"]*)"|([^\s"]+)')
_PLAIN = re.compile(r"([0-9]+) ?: ?([0-9.eE+-]+)")
_KINDS = {"@type": ("DTMC", "MDP"), "@value_type": ("double", "rational")}
_MESSAGES = {"@type": "the type is {}; only DTMC and MDP", "@value_type": "values are {}; only double and rational"}
Rewards = tuple[float, ...]


def read_drn(path: str | PathLike[str], *, loss: str | None = None, goal: str | None = None, limit: int = LIMIT) -> SSP:
    """Read a DTMC or an MDP from a DRN file as a stochastic shortest path problem.

    ``loss`` names the reward model, ``goal`` the label of the goal states; each may be left out if there is only one.
    Storm calls a reward model without a name ``""``. States, losses, initial states (label ``init``) and repeated
    actions become what :func:`~goalbound.models.files.umb.read_umb` makes of them. Actions that are all numbers are
    numbers, others are numbered as they first appear. Numbers may be decimals or rationals (``1/3``, rounded once).

    Storm writes 10 digits by default, so rows of its files are divided by their sum here; export with
    ``output_precision = 17`` for exact models.
    """
    with as_format_errors(path, "DRN"):
        text = io.TextIOWrapper(io.BytesIO(read_bytes(path, limit)), encoding="utf-8-sig", newline="\n")
        reader = _Reader(text)
        reader.read_header()
        reader.read_body()
        return to_ssp(reader.explicit_mdp(loss, goal))


def write_drn(ssp: SSP, path: str | PathLike[str]) -> None:
    """Write a problem as a DRN file: an MDP with the reward model ``loss`` and the label ``goal``.

    Numbers are written so that they read back to the bit (losses that are denormal in the unit aside). Losses are in
    the user's unit (times ``loss_scale``). The scale and the names of the actions stand in a comment, which Storm
    skips; in the model, spaces and the like in names of actions become ``_``. What the format cannot say is as in
    :func:`~goalbound.models.files.umb.write_umb`: state names are lost, and a start that is not uniform over its states
    is an error.
    """
    model = from_ssp(ssp)
    metadata = {**cap_entry(cap_of(ssp)), "actions": model.action_names}
    with atomic_write(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        text.write(f"{_COMMENT}{json.dumps(metadata)}\n@type: MDP\n@value_type: double\n@parameters\n\n")
        text.write(
            f"@reward_models\nloss\n@nr_states\n{len(model.goal)}\n@nr_choices\n{len(model.choice_loss)}\n@model\n"
        )
        _write_states(text, model)
        text.detach()  # flushes, and leaves the file open
        size = file.seek(0, io.SEEK_END)
    warn_if_large(path, size)


def _write_states(text: io.TextIOWrapper, model: ExplicitMDP) -> None:
    tokens = None if model.action_names is None else _tokens(model.action_names)
    choice_start, branch_start = model.choice_start.tolist(), model.branch_start.tolist()
    targets, probabilities, amounts = model.target.tolist(), model.probability.tolist(), model.choice_loss.tolist()
    actions: list[int] = [] if model.action is None else model.action.tolist()
    for state, (initial, goal) in enumerate(zip(model.initial.tolist(), model.goal.tolist(), strict=True)):
        text.write(f"state {state} [0]{' init' if initial else ''}{' goal' if goal else ''}\n")
        for choice in range(choice_start[state], choice_start[state + 1]):
            name = actions[choice] if tokens is None else tokens[actions[choice]]
            text.write(f"\taction {name} [{amounts[choice]!r}]\n")
            first, last = branch_start[choice], branch_start[choice + 1]
            text.writelines(f"\t\t{targets[at]} : {probabilities[at]!r}\n" for at in range(first, last))


def _tokens(names: tuple[str, ...]) -> list[str]:
    """Names as single words of their own; the reader does the same to the names in the comment to recognise them."""
    taken: set[str] = {NO_LABEL}
    count: dict[str, int] = {}
    tokens = []
    for name in names:
        word = "".join(sign if sign.isprintable() and sign not in ' "[]' else "_" for sign in name) or "_"
        token = word
        while token in taken:
            count[word] = count.get(word, 1) + 1
            token = f"{word}_{count[word]}"
        taken.add(token)
        tokens.append(token)
    return tokens


class _Reader:
    """What was read of a file so far: first its header, up to ``@model``, then the model as flat lists."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self.lines = self._numbered(text)
        self.number, self.raw = 0, ""
        self.kind = ""
        self.states = 0
        self.choices: int | None = None
        self.rewards: list[str] = []
        self.cap: float | None = None
        self.names: list[str] | None = None
        self.numbers: dict[str, float] = {}  # by their text; placeholders ($name) are such texts
        self.choice_count, self.branch_count = array("q"), array("q")  # of each state, of each choice
        self.target, self.probability = array("q"), array("d")
        self.state_rewards: list[Rewards] = []
        self.action_rewards: list[Rewards] = []
        self.words: dict[str, int] = {}  # that name actions, numbered as they first appear
        self.action = array("q")
        self.labels: dict[str, array[int]] = {}  # the states of each
        self._rewards_of: dict[str, Rewards] = {}

    def _numbered(self, text: io.TextIOWrapper) -> Iterator[str]:
        for self.number, self.raw in enumerate(text, start=1):
            yield self.raw.strip()

    def _refuse(self, message: str) -> NoReturn:
        raise FileFormatError(f"line {self.number}: {message}")

    def _next_line(self) -> str:
        for line in self.lines:
            return line
        raise FileFormatError("the file ends within the header; it is truncated")

    def read_header(self) -> None:
        """Read up to and with ``@model``."""
        seen: set[str] = set()
        for line in self.lines:
            text = line
            while text.startswith("@"):  # a section of several lines ends with the first line of the next
                section = text.partition(":")[0]
                if section in seen:
                    self._refuse(f"{section} appears twice")
                seen.add(section)
                if section == "@model":
                    for value, needed in ((self.kind, "@type"), (self.states, "@nr_states")):
                        if not value:
                            raise FileFormatError(f"{needed} must stand before @model")
                    return
                text = self._read_section(section, text)
            if text.startswith(_COMMENT):
                self._read_comment(text.removeprefix(_COMMENT))
            elif text and not text.startswith("//"):
                self._refuse(f"{_start_of(text)} stands before @model and is not a section of DRN")
        raise FileFormatError("there is no @model section; this is no DRN file, or it is truncated")

    def _read_section(self, section: str, text: str) -> str:
        """Read one section; return the line after it if that was read too, else an empty one."""
        if section in _KINDS:
            kind = text.partition(":")[2].strip()
            if kind not in _KINDS[section]:
                self._refuse(f"{_MESSAGES[section].format(_start_of(kind))} are read")
            self.kind = kind if section == "@type" else self.kind
        elif section == "@placeholders":
            while (line := self._next_line()).startswith("$"):
                name, _, value = line.partition(":")
                self.numbers[name.strip()] = self._number(value)
            return line
        elif section == "@parameters":
            line = self._next_line()
            if line and not line.startswith("@"):
                self._refuse(f"the model has the parameters {_start_of(line)}; give them values first")
            return line
        elif section == "@reward_models":
            line = self._next_line()
            if line.startswith("@"):
                return line
            names = re.split(r"[ \t]", self.raw.rstrip("\r\n"))
            self.rewards = names if names[-1] else names[:-1]  # Storm ends each name, even an empty one, with a space
        elif section == "@nr_states":
            self.states = self._count()
        elif section == "@nr_choices":
            self.choices = self._count()
        else:
            self._refuse(f"{_start_of(text)} is not a section of DRN")
        return ""

    def _count(self) -> int:
        text = self._next_line()
        if not (text.isascii() and text.isdecimal() and len(text) < 16):
            self._refuse(f"{_start_of(text)} is not a number of states or choices")
        return int(text)

    def _read_comment(self, text: str) -> None:
        metadata = strict_json(text.encode(), "the comment of goalbound")
        self.cap, names = cap_in(metadata, "the comment of goalbound"), metadata.get("actions")
        if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise FileFormatError("actions in the comment of goalbound are no list of names")
        self.names = names

    def read_body(self) -> None:
        """Read states, actions and transitions, up to the end."""
        counts, states = self.branch_count, self.states
        add_target, add_probability = self.target.append, self.probability.append
        action_is_open = False
        for text in self.lines:
            try:
                if text[:1].isdigit():
                    plain = _PLAIN.fullmatch(text)
                    at, probability = (int(plain[1]), float(plain[2])) if plain else self._transition(text)
                    if at >= states:
                        raise ValueError(f"{_start_of(text)} does not lead to one of the {states} states")
                    if not action_is_open:  # Storm too takes transitions without an action for those of the first
                        self._open_action("0", ())
                        action_is_open = True
                    add_target(at)
                    add_probability(probability)
                    counts[-1] += 1
                elif text.startswith("action "):
                    word, _, rest = text[7:].partition(" ")
                    rewards, rest = self._rewards(rest.strip())
                    if rest:
                        raise ValueError(f"{_start_of(rest)} follows an action; one word and rewards are expected")
                    self._open_action(word, rewards)
                    action_is_open = True
                elif text.startswith("state "):
                    self._open_state(text[6:])
                    action_is_open = False
                elif text and not text.startswith("//"):
                    raise ValueError(f"{_start_of(text)} is not a state, action or transition")
            except ValueError as error:
                self._refuse(str(error))

    def _open_state(self, text: str) -> None:
        word, _, rest = text.partition(" ")
        state = len(self.choice_count)
        if state >= self.states or word != str(state):
            raise ValueError(f"state {_start_of(word)} stands where state {state} of {self.states} is expected")
        rest = rest.strip()
        if rest.startswith(("!", "{")):
            raise ValueError(f"{_start_of(rest)}: exit rates and observations do not belong to a DTMC or an MDP")
        rewards, rest = self._rewards(rest)
        self.choice_count.append(0)
        self.state_rewards.append(rewards)
        for quoted, plain in _LABEL.findall(rest):
            self.labels.setdefault(quoted or plain, array("q")).append(state)
        if rest.count('"') % 2:
            raise ValueError(f"a quotation mark is left open in {_start_of(rest)}")

    def _open_action(self, word: str, rewards: Rewards) -> None:
        if not self.choice_count:
            raise ValueError("an action stands before the first state")
        self.choice_count[-1] += 1
        self.branch_count.append(0)
        self.action.append(self.words.setdefault(word, len(self.words)))
        self.action_rewards.append(rewards)

    def _transition(self, text: str) -> tuple[int, float]:
        """A transition in any other form than the plain one."""
        target, colon, value = text.partition(":")
        target = target.rstrip()
        if not colon or not target.isdecimal():
            raise ValueError(f"{_start_of(text)} is not a transition; it needs a state, a colon and a probability")
        return int(target), self._number(value)

    def _rewards(self, text: str) -> tuple[Rewards, str]:
        """The numbers in the brackets at the front, and what follows them."""
        if not text.startswith("["):
            return (), text
        inside, bracket, rest = text[1:].partition("]")
        if not bracket:
            raise ValueError(f"a bracket is left open in {_start_of(text)}")
        if inside not in self._rewards_of:
            self._rewards_of[inside] = tuple(self._number(value) for value in inside.split(","))
        return self._rewards_of[inside], rest.strip()

    def _number(self, text: str) -> float:
        """A decimal, a rational, or a placeholder; remembered by its text."""
        word = text.strip()
        if word in self.numbers:
            return self.numbers[word]
        if word.strip("0123456789.eE+-/") or not word:
            raise FileFormatError(f"{_start_of(word)} is not a number")
        above, stroke, below = word.partition("/")
        try:
            value = int(above) / int(below) if stroke else float(word)
        except (ValueError, ArithmeticError) as error:
            raise FileFormatError(f"{_start_of(word)} is not a number ({error})") from None
        self.numbers[text] = value
        return value

    def explicit_mdp(self, loss: str | None, goal: str | None) -> ExplicitMDP:
        """The model that was read."""
        states, choices = len(self.choice_count), len(self.branch_count)
        if states != self.states:
            raise FileFormatError(f"@nr_states says {self.states}, and {states} states follow; the file is truncated")
        if self.choices not in (None, choices):
            raise FileFormatError(f"@nr_choices says {self.choices}, and {choices} actions follow")
        if 0 in self.branch_count:
            empty = self.branch_count.index(0)
            raise FileFormatError(f"action {empty} of the file leads nowhere; the file is truncated")
        sizes = np.array(self.choice_count, dtype=np.int64)
        if self.kind == "DTMC" and (sizes > 1).any():
            state = int(np.argmax(sizes > 1))
            raise FileFormatError(f"the file says it is a DTMC, but state {state} has several actions")
        labels = [label for label in self.labels if label != INITIAL]
        candidates = [label for label in labels if len(self.labels[label]) < states]
        action, names = self._actions()
        return ExplicitMDP(
            choice_start=np.concatenate(([0], np.cumsum(sizes))),
            branch_start=np.concatenate(([0], np.cumsum(np.array(self.branch_count, dtype=np.int64)))),
            target=np.array(self.target, dtype=np.int64),
            probability=np.array(self.probability, dtype=np.float64),
            choice_loss=self._choice_losses(loss, sizes),
            goal=self._flags(select_name(goal, labels, candidates, "label", "goal")),
            initial=self._flags(INITIAL),
            action=action,
            action_names=names,
            cap=self.cap,
        )

    def _flags(self, label: str) -> NDArray[np.bool_]:
        flags = np.zeros(len(self.choice_count), dtype=bool)
        flags[np.array(self.labels.get(label, array("q")), dtype=np.int64)] = True
        return flags

    def _choice_losses(self, loss: str | None, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        width = max(map(len, {*self.state_rewards, *self.action_rewards}), default=0)
        names = [*self.rewards, *(f"rew{at}" for at in range(len(self.rewards), width))]  # as Storm names them
        if len(set(names)) < len(names):
            raise FileFormatError(f"two reward models have one name: {names}")
        column = names.index(select_name(loss, names, names, "reward model", "loss"))
        of_action, of_state = (
            np.array([row[column] if column < len(row) else 0.0 for row in rewards], dtype=np.float64)
            for rewards in (self.action_rewards, self.state_rewards)
        )
        return sum_rewards([of_action, np.repeat(of_state, sizes)])

    def _actions(self) -> tuple[NDArray[np.int64] | None, tuple[str, ...] | None]:
        """The action of each choice, and the names if there are any."""
        used = np.array(self.action, dtype=np.int64)
        words = list(self.words)
        if self.names is not None:
            known = {token: at for at, token in enumerate(_tokens(tuple(self.names)))}
            if known.keys() >= self.words.keys():
                return np.array([known[word] for word in words], dtype=np.int64)[used], tuple(self.names)
        if words == [NO_LABEL]:
            return None, None
        if all(word.isascii() and word.isdecimal() and len(word) < 10 for word in words):
            return np.array([int(word) for word in words], dtype=np.int64)[used], None
        names = tuple("" if word == NO_LABEL else word for word in words)
        return used, names if names != UNNAMED else None


def _start_of(text: str) -> str:
    """A text for messages, shortened."""
    return repr(text[:60])
