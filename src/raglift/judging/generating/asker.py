"""One model, asked step by step within one limit of cost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from raglift.errors import CostLimitReached
from raglift.integrations.language_models import Usage
from raglift.integrations.prices import dollars_in_short
from raglift.judging.asking.ask import ask_all, estimate
from raglift.judging.generating.drafts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raglift.integrations.language_models import FilledPrompt, LanguageModel
    from raglift.judging.asking.ask import Limits, NoAnswer

__all__ = ["Asker"]

Form = TypeVar("Form", bound=BaseModel)

_MARGIN = 1.2


class Asker:
    """One model, asked within one limit for all calls together.

    Args:
        model: who is asked.
        limits: how many requests at a time, and for how much money in all.
        progress: whether to show it; None decides by the terminal.
    """

    def __init__(self, model: LanguageModel, limits: Limits, progress: bool | None) -> None:
        self.model = model
        self.usage = Usage()
        """What all calls were billed."""
        self.dollars: float | None = 0.0
        """The same in US dollars; None where the price is not known."""
        self._limits = limits
        self._progress = progress

    def ask(
        self,
        prompts: Sequence[FilledPrompt],
        form: type[Form],
        label: str,
        to_come: Callable[[], Sequence[FilledPrompt]] = tuple,
    ) -> tuple[Form | NoAnswer, ...]:
        """Return the answers to the prompts of one step, in order.

        Args:
            prompts: of this step.
            form: what each answer must be.
            label: what is being done.
            to_come: returns the checks that follow from this step, for what is said where the limit stops it.

        Raises:
            CostLimitReached: the next request might pass the limit.
        """
        limits = self._limits
        if limits.max_cost is not None:
            limits = replace(limits, max_cost=max(0.0, limits.max_cost - (self.dollars or 0.0)))
        try:
            answers = ask_all(self.model, prompts, form, limits, label=label, progress=self._progress)
        except CostLimitReached as error:
            raise self._limit_reached(error, label, to_come()) from error
        self.usage += answers.usage
        self.dollars = None if self.dollars is None or answers.dollars is None else self.dollars + answers.dollars
        return answers.values

    def _limit_reached(self, error: CostLimitReached, label: str, to_come: Sequence[FilledPrompt]) -> CostLimitReached:
        """Return the error for all steps together: `ask_all` knows of one alone."""
        spent = (self.dollars or 0.0) + error.spent
        more = error.more + (estimate(self.model, to_come, Verdict, self._limits).dollars or 0.0)
        return CostLimitReached(
            f"max_cost: the next request might cost more than US$ {self._limits.max_cost or 0:g} in all. "
            f"US$ {dollars_in_short(spent)} were spent now, up to {label}, and all answers are kept; the rest takes "
            f"about US$ {dollars_in_short(more)} if no more questions are thrown away: run again with --max-cost "
            f"{dollars_in_short(more * _MARGIN)} or more",
            spent=spent,
            more=more,
        )
