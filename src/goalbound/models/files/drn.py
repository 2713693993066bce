"""DRN, the text format of Storm: a header of ``@`` sections, then states, actions and transitions, one per line."""

from __future__ import annotations

import io
import json
from array import array
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError
from goalbound.models.files.drn_text import NO_LABEL, Body, Header, read_body, read_header
from goalbound.models.files.explicit_mdp import UNNAMED, ExplicitMDP, from_ssp, select_name, sum_rewards, to_ssp
from goalbound.models.files.io import LIMIT, as_format_errors, atomic_write, read_bytes, warn_if_large
from goalbound.models.ssp import SSP

INITIAL = "init"


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

    Numbers are written so that they read back to the bit. Losses are in the user's unit (times ``loss_scale``). The
    scale and the names of the actions stand in a comment, which Storm skips; in the model, spaces and the like in
    names of actions become ``_``. What the format cannot say is as in :func:`~goalbound.models.files.umb.write_umb`:
    state names are lost, and a start that is not uniform over its states is an error.
    """
    model = from_ssp(ssp)
    metadata = {"loss_scale": ssp.loss_scale, "actions": model.action_names}
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
    scale, recorded_names = header.metadata
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
        loss_scale=scale,
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
