"""The lines of a DRN file, in one pass."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from goalbound.errors import FileFormatError
from goalbound.models.files.io import strict_json

NO_LABEL = "__NOLABEL__"
"""What Storm writes for a choice without a name."""

_METADATA_PREFIX = "// goalbound "
_LABEL = re.compile(r'"([^"]*)"|([^\s"]+)')
_PLAIN = re.compile(r"([0-9]+) ?: ?([0-9.eE+-]+)")
_VALUE_TYPES = ("double", "rational")
_EXCERPT_LENGTH = 60
Lines = Iterator[tuple[int, str]]


@dataclass
class Header:
    """What stands before ``@model``."""

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
    """What stands after ``@model``, as long lists."""

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
                f"line {number}: {text[:_EXCERPT_LENGTH]!r} stands before @model and is no section of DRN"
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
                raise FileFormatError(f"{text[:_EXCERPT_LENGTH]!r} is no state, action or transition")
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
        raise FileFormatError(f"line {number}: {text[:_EXCERPT_LENGTH]!r} is no section of DRN")
    return number, ""


def _check_header(header: Header) -> None:
    for value, section in ((header.kind, "@type"), (header.states, "@nr_states")):
        if not value:
            raise FileFormatError(f"{section} must stand before @model")


def _read_metadata(text: str) -> tuple[float | None, list[str] | None]:
    metadata = strict_json(text.encode(), "the comment of goalbound")
    scale, names = metadata.get("loss_scale"), metadata.get("actions")
    if scale is not None and (type(scale) not in (int, float) or not 0.0 < scale < float("inf")):
        raise FileFormatError(f"loss_scale in the comment of goalbound is {scale!r}, not a positive number")
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise FileFormatError("actions in the comment of goalbound are no list of names")
    return None if scale is None else float(scale), names


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
            f"{text[:_EXCERPT_LENGTH]!r} is no transition; it needs a state, a colon and a probability"
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
        raise FileFormatError(f"{word[:_EXCERPT_LENGTH]!r} is no number")
    above, stroke, below = word.partition("/")
    try:
        value = int(above) / int(below) if stroke else float(word)
    except (ValueError, ArithmeticError) as error:
        raise FileFormatError(f"{word[:_EXCERPT_LENGTH]!r} is no number ({error})") from None
    numbers[text] = value
    return value


def _count(number: int, line: str) -> int:
    text = line.strip()
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise FileFormatError(f"line {number}: {text[:_EXCERPT_LENGTH]!r} is no number of states or choices")
    return int(text)
