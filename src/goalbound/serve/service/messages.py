"""What programs send: one class for each body, from which the decoder and the OpenAPI description are made."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from goalbound.serve.store.bodies import abandon_body

Place = Annotated[int, Meta(ge=0)] | Annotated[str, Meta(max_length=200)]
"""A state or an action, by number or name."""
Allowed = Annotated[list[Place], Meta(description="the actions that are possible now", max_length=10_000)] | None
Number = Annotated[int, Meta(ge=1, description="the number of this step in its case: 1, 2, ...")]
_ID = r"^[A-Za-z0-9._~-]{1,64}$"
Id = Annotated[str, Meta(pattern=_ID, description="a name of yours, without personal data")]
KnownId = Annotated[str, Meta(min_length=1, max_length=64, extra_json_schema={"pattern": _ID})]
"""The id of a case that was begun: it is looked up, so that the pattern need not be checked for each of 256 steps."""
Context = Annotated[
    Any, Meta(description="a point of the simplex [d]; where the learner has a map, the covariates by their names")
]


class Begin(Struct, forbid_unknown_fields=True):
    """A case begins."""

    context: Context
    state: Place
    id: Id | None = None
    allowed: Allowed = None


class StepReport(Struct, forbid_unknown_fields=True):
    """What came of an action: of the proposed one, or of the one that is named."""

    step: Number
    next_state: Place
    loss: Annotated[float, Meta(ge=0, description="left out: the case came there by itself")] | None = None
    action: Annotated[Place, Meta(description="the action that was played; left out: the proposed one")] | None = None
    allowed: Allowed = None


class CaseStep(StepReport, forbid_unknown_fields=True, kw_only=True):
    """A step of a batch."""

    case: KnownId


class Batch(Struct, forbid_unknown_fields=True):
    """Steps of several cases, in this order."""

    steps: Annotated[list[CaseStep], Meta(min_length=1, max_length=256)]


class Ask(Struct, forbid_unknown_fields=True):
    """What is proposed now, among these actions; a single one is what a person begins."""

    allowed: Allowed = None


class Abandon(Struct, forbid_unknown_fields=True):
    """The case ends without the goal."""

    step: Number
    reason: Annotated[str, Meta(min_length=1, max_length=200, description="without personal data")]
    missing_at_random: Annotated[
        bool, Meta(description="whether the outcome is missing has nothing to do with what it was")
    ] = False

    def recorded(self) -> str:
        """What the store keeps of it."""
        return abandon_body(self.reason, missing_at_random=self.missing_at_random)


class PolicyQuestion(Struct, forbid_unknown_fields=True):
    """What would a policy lose under this context?"""

    context: Context
    policy: (
        Annotated[
            dict[str, Place] | list[Place],
            Meta(description="an action for each state; left out: what the learner plans"),
        ]
        | None
    ) = None


class Reply(Struct):
    """What is proposed, as it is in the log."""

    case: str
    step: int
    action: int | None
    name: str | None
    propensity: float | None
    seq: int
    done: bool


class CaseReply(Reply):
    """What is proposed in a case, and where it is."""

    state: int
    state_name: str | None


class BatchReply(Reply):
    """What is proposed after a step of a batch; and whether the step had been recorded before."""

    repeated: bool


class Problem(Struct, omit_defaults=True):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str = ""
    code: str = ""
    expected_step: int | None = None
    request_id: str = ""
