"""DRN, the text format of Storm: a header of ``@`` sections, then states, actions and transitions, one per line."""

from __future__ import annotations

import io
import json
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError
from goalbound.models.amounts import cap_entry, cap_in, cap_of
from goalbound.models.files.explicit_mdp import UNNAMED, ExplicitMDP, from_ssp, select_name, sum_rewards, to_ssp
from goalbound.models.files.io import LIMIT, as_format_errors, atomic_write, read_bytes, strict_json, warn_if_large
from goalbound.models.ssp import SSP

INITIAL = "init"
NO_LABEL = "__NOLABEL__"
"""What Storm writes for a choice without a name."""

_METADATA_PREFIX = "// goalbound "
_LABEL = re.compile(r'"([^"]*)"|([^\s"]+)')
_PLAIN = re.compile(r"([0-9]+) ?: ?([0-9.eE+-]+)")
_VALUE_TYPES = ("double", "rational")
_EXCERPT_LENGTH = 60
Lines = Iterator[tuple[int, str]]


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
        data = read_bytes(path, limit)
        lines = enumerate(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="\n"), start=1)
        header = read_header(lines)
        body = read_body(lines, header)
        return to_ssp(_explicit_mdp(header, body, loss, goal))


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
        text.write(f"// goalbound {json.dumps(metadata)}\n@type: MDP\n@value_type: double\n@parameters\n\n")
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
        word = "".join(one if one.isprintable() and one not in ' "[]' else "_" for one in name) or "_"
        token = word
        while token in taken:
            count[word] = count.get(word, 1) + 1
            token = f"{word}_{count[word]}"
        taken.add(token)
        tokens.append(token)
    return tokens


def _explicit_mdp(header: Header, body: Body, loss: str | None, goal: str | None) -> ExplicitMDP:
    states = len(body.choice_count)
    if states != header.states:
        raise FileFormatError(f"@nr_states says {header.states}, and {states} states follow; the file is truncated")
    choices = len(body.branch_count)
    if header.choices not in (None, choices):
        raise FileFormatError(f"@nr_choices says {header.choices}, and {choices} actions follow")
    if 0 in body.branch_count:
        raise FileFormatError(f"action {body.branch_count.index(0)} of the file leads nowhere; the file is truncated")
    sizes = np.array(body.choice_count, dtype=np.int64)
    if header.kind == "DTMC" and (sizes > 1).any():
        raise FileFormatError(f"the file says it is a DTMC, but state {int(np.argmax(sizes > 1))} has several actions")
    labels = [label for label in body.labels if label != INITIAL]
    candidates = [label for label in labels if len(body.labels[label]) < states]
    chosen = select_name(goal, labels, candidates, "label", "goal")
    cap, recorded_names = header.metadata
    action, names = _actions(body, recorded_names)
    return ExplicitMDP(
        choice_start=np.concatenate(([0], np.cumsum(sizes))),
        branch_start=np.concatenate(([0], np.cumsum(np.array(body.branch_count, dtype=np.int64)))),
        target=np.array(body.target, dtype=np.int64),
        probability=np.array(body.probability, dtype=np.float64),
        choice_loss=_choice_losses(header, body, loss, sizes),
        goal=_flags(body.labels[chosen], states),
        initial=_flags(body.labels.get(INITIAL, array("q")), states),
        action=action,
        action_names=names,
        cap=cap,
    )


def _flags(at: Any, size: int) -> NDArray[np.bool_]:
    flags = np.zeros(size, dtype=bool)
    flags[np.array(at, dtype=np.int64)] = True
    return flags


def _choice_losses(header: Header, body: Body, loss: str | None, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    width = max(map(len, {*body.state_rewards, *body.action_rewards}), default=0)
    names = [*header.rewards, *(f"rew{at}" for at in range(len(header.rewards), width))]  # as Storm names them
    if len(set(names)) < len(names):
        raise FileFormatError(f"two reward models have one name: {names}")
    column = names.index(select_name(loss, names, names, "reward model", "loss"))

    def one(rewards: list[tuple[float, ...]]) -> NDArray[np.float64]:
        return np.array([row[column] if column < len(row) else 0.0 for row in rewards], dtype=np.float64)

    return sum_rewards([one(body.action_rewards), np.repeat(one(body.state_rewards), sizes)])


def _actions(body: Body, recorded: list[str] | None) -> tuple[NDArray[np.int64] | None, tuple[str, ...] | None]:
    """The action of each choice, and the names if there are any."""
    used = np.array(body.action, dtype=np.int64)
    words = list(body.words)
    if recorded is not None:
        known = {token: at for at, token in enumerate(_tokens(tuple(recorded)))}
        if known.keys() >= body.words.keys():
            return np.array([known[word] for word in words], dtype=np.int64)[used], tuple(recorded)
    if words == [NO_LABEL]:
        return None, None
    if all(word.isascii() and word.isdecimal() and len(word) < 10 for word in words):
        return np.array([int(word) for word in words], dtype=np.int64)[used], None
    names = tuple("" if word == NO_LABEL else word for word in words)
    return used, names if names != UNNAMED else None


@dataclass
class Header:
    """The part of a file before ``@model``."""

    kind: str = ""
    states: int = 0
    choices: int | None = None
    rewards: list[str] = field(default_factory=list)
    numbers: dict[str, float] = field(default_factory=dict)
    """Every number that was seen, by its text; placeholders (``$name``) are such texts."""
    metadata: tuple[float | None, list[str] | None] = (None, None)
    """goalbound's own comment: the scale of the losses, the names of the actions."""


@dataclass
class Body:
    """The part of a file after ``@model``, as flat lists."""

    choice_count: array[int] = field(default_factory=lambda: array("q"))
    """choices of each state"""
    branch_count: array[int] = field(default_factory=lambda: array("q"))
    """branches of each choice"""
    target: array[int] = field(default_factory=lambda: array("q"))
    probability: array[float] = field(default_factory=lambda: array("d"))
    state_rewards: list[tuple[float, ...]] = field(default_factory=list)
    action_rewards: list[tuple[float, ...]] = field(default_factory=list)
    words: dict[str, int] = field(default_factory=dict)
    """the words that name actions, numbered as they first appear"""
    action: array[int] = field(default_factory=lambda: array("q"))
    labels: dict[str, array[int]] = field(default_factory=dict)
    """the states of each label"""


def read_header(lines: Lines) -> Header:
    """The header, up to and with ``@model``."""
    header = Header()
    seen: set[str] = set()
    line_of = _lines_or_error(lines)
    for number, line in lines:
        text = line.strip()
        while text.startswith("@"):  # a section of several lines ends with the first line of the next
            section = text.partition(":")[0]
            if section in seen:
                raise FileFormatError(f"line {number}: {section} appears twice")
            seen.add(section)
            if section == "@model":
                _check_header(header)
                return header
            number, text = _read_section(header, section, text, number, line_of)
        if text.startswith(_METADATA_PREFIX):
            header.metadata = _read_metadata(text.removeprefix(_METADATA_PREFIX))
        elif text and not text.startswith("//"):
            raise FileFormatError(
                f"line {number}: {text[:_EXCERPT_LENGTH]!r} stands before @model and is not a section of DRN"
            )
    raise FileFormatError("there is no @model section; this is no DRN file, or it is truncated")


def read_body(lines: Lines, header: Header) -> Body:
    """States, actions and transitions, up to the end."""
    body = Body()
    states, numbers = header.states, header.numbers
    add_target, add_probability, counts = body.target.append, body.probability.append, body.branch_count
    rewards_of: dict[str, tuple[float, ...]] = {}
    action_is_open = False
    for number, line in lines:
        text = line.strip()
        try:
            if text[:1].isdigit():
                plain = _PLAIN.fullmatch(text)
                at, probability = (int(plain[1]), float(plain[2])) if plain else _transition(text, numbers)
                if at >= states:
                    raise FileFormatError(f"{text[:_EXCERPT_LENGTH]!r} does not lead to one of the {states} states")
                if not action_is_open:  # Storm too takes transitions without an action for those of the first
                    _open_action(body, "0", ())
                    action_is_open = True
                add_target(at)
                add_probability(probability)
                counts[-1] += 1
            elif text.startswith("action "):
                word, rest = _word(text[7:])
                rewards, rest = _rewards(rest, numbers, rewards_of)
                if rest:
                    raise FileFormatError(
                        f"{rest[:_EXCERPT_LENGTH]!r} follows an action; one word and rewards are expected"
                    )
                _open_action(body, word, rewards)
                action_is_open = True
            elif text.startswith("state "):
                _open_state(body, text[6:], states, numbers, rewards_of)
                action_is_open = False
            elif text and not text.startswith("//"):
                raise FileFormatError(f"{text[:_EXCERPT_LENGTH]!r} is not a state, action or transition")
        except ValueError as error:
            raise FileFormatError(f"line {number}: {error}") from None
    return body


def _lines_or_error(lines: Lines) -> Iterator[tuple[int, str]]:
    for number, line in lines:
        yield number, line.rstrip("\r\n")
    raise FileFormatError("the file ends within the header; it is truncated")


def _read_section(header: Header, section: str, text: str, number: int, lines: Lines) -> tuple[int, str]:
    """Read one section; give the line after it if that was read too, else an empty one."""
    if section == "@type":
        header.kind = text.partition(":")[2].strip()
        if header.kind not in ("DTMC", "MDP"):
            raise FileFormatError(
                f"line {number}: the type is {header.kind[:_EXCERPT_LENGTH]!r}; only DTMC and MDP are read"
            )
    elif section == "@value_type":
        kind = text.partition(":")[2].strip()
        if kind not in _VALUE_TYPES:
            raise FileFormatError(
                f"line {number}: values are {kind[:_EXCERPT_LENGTH]!r}; only double and rational are read"
            )
    elif section == "@parameters":
        number, line = next(lines)
        if line.startswith("@"):
            return number, line.strip()
        if line.strip():
            raise FileFormatError(
                f"line {number}: the model has the parameters {line[:_EXCERPT_LENGTH]!r}; give them values first"
            )
    elif section == "@placeholders":
        for number, line in lines:
            if not line.startswith("$"):
                return number, line.strip()
            name, _, value = line.partition(":")
            header.numbers[name.strip()] = _number(value, header.numbers)
    elif section == "@reward_models":
        number, line = next(lines)
        if line.startswith("@"):
            return number, line.strip()
        names = re.split(r"[ \t]", line)
        header.rewards = names[:-1] if not names[-1] else names  # Storm ends each name, even an empty one, with a space
    elif section == "@nr_states":
        header.states = _count(*next(lines))
    elif section == "@nr_choices":
        header.choices = _count(*next(lines))
    else:
        raise FileFormatError(f"line {number}: {text[:_EXCERPT_LENGTH]!r} is not a section of DRN")
    return number, ""


def _check_header(header: Header) -> None:
    for value, section in ((header.kind, "@type"), (header.states, "@nr_states")):
        if not value:
            raise FileFormatError(f"{section} must stand before @model")


def _read_metadata(text: str) -> tuple[float | None, list[str] | None]:
    metadata = strict_json(text.encode(), "the comment of goalbound")
    cap, names = cap_in(metadata, "the comment of goalbound"), metadata.get("actions")
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise FileFormatError("actions in the comment of goalbound are no list of names")
    return cap, names


def _open_state(body: Body, text: str, states: int, numbers: dict[str, float], known: dict[str, Any]) -> None:
    word, rest = _word(text)
    state = len(body.choice_count)
    if state >= states or word != str(state):
        raise FileFormatError(f"state {word[:_EXCERPT_LENGTH]!r} stands where state {state} of {states} is expected")
    if rest.startswith(("!", "{")):
        raise FileFormatError(
            f"{rest[:_EXCERPT_LENGTH]!r}: exit rates and observations do not belong to a DTMC or an MDP"
        )
    rewards, rest = _rewards(rest, numbers, known)
    body.choice_count.append(0)
    body.state_rewards.append(rewards)
    for quoted, plain in _LABEL.findall(rest):
        body.labels.setdefault(quoted or plain, array("q")).append(state)
    if rest.count('"') % 2:
        raise FileFormatError(f"a quotation mark is left open in {rest[:_EXCERPT_LENGTH]!r}")


def _transition(text: str, numbers: dict[str, float]) -> tuple[int, float]:
    """A transition in any other form than the plain one."""
    target, colon, value = text.partition(":")
    target = target.rstrip()
    if not colon or not target.isdecimal():
        raise FileFormatError(
            f"{text[:_EXCERPT_LENGTH]!r} is not a transition; it needs a state, a colon and a probability"
        )
    return int(target), _number(value, numbers)


def _open_action(body: Body, word: str, rewards: tuple[float, ...]) -> None:
    if not body.choice_count:
        raise FileFormatError("an action stands before the first state")
    body.choice_count[-1] += 1
    body.branch_count.append(0)
    body.action.append(body.words.setdefault(word, len(body.words)))
    body.action_rewards.append(rewards)


def _word(text: str) -> tuple[str, str]:
    word, _, rest = text.partition(" ")
    return word, rest.strip()


def _rewards(text: str, numbers: dict[str, float], known: dict[str, Any]) -> tuple[tuple[float, ...], str]:
    """The numbers in the brackets at the front, and what follows them."""
    if not text.startswith("["):
        return (), text
    inside, bracket, rest = text[1:].partition("]")
    if not bracket:
        raise FileFormatError(f"a bracket is left open in {text[:_EXCERPT_LENGTH]!r}")
    if inside not in known:
        known[inside] = tuple(_number(value, numbers) for value in inside.split(","))
    return known[inside], rest.strip()


def _number(text: str, numbers: dict[str, float]) -> float:
    """A decimal, a rational, or a placeholder; remembered by its text."""
    word = text.strip()
    if word in numbers:
        return numbers[word]
    if word.strip("0123456789.eE+-/") or not word:
        raise FileFormatError(f"{word[:_EXCERPT_LENGTH]!r} is not a number")
    above, stroke, below = word.partition("/")
    try:
        value = int(above) / int(below) if stroke else float(word)
    except (ValueError, ArithmeticError) as error:
        raise FileFormatError(f"{word[:_EXCERPT_LENGTH]!r} is not a number ({error})") from None
    numbers[text] = value
    return value


def _count(number: int, line: str) -> int:
    text = line.strip()
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise FileFormatError(f"line {number}: {text[:_EXCERPT_LENGTH]!r} is not a number of states or choices")
    return int(text)
