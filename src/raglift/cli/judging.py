"""The commands about language models and people who judge; each is imported when it is run."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 — typer reads the annotations at run time
from typing import Annotated

import typer

from raglift.cli.arguments import (  # noqa: TC001 — typer reads the annotations at run time
    Concurrency,
    Documents,
    LanguageModelName,
    Price,
    Temperature,
)

__all__ = ["group"]

group = typer.Typer(rich_markup_mode=None)


@group.command()
def grade(
    runs: Annotated[list[Path], typer.Argument(help="Folders of saved evaluations, or the folder of a sweep.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write the labels: a .jsonl file.")
    ] = None,
    depth: Annotated[int, typer.Option(help="How many hits of each ranking are graded.")] = 10,
    model: LanguageModelName = "openai:gpt-4o-mini",
    scale: Annotated[int, typer.Option(help="The highest grade: 3 or 5; 0 is irrelevant.")] = 3,
    rubric: Annotated[
        Path | None, typer.Option(help="A text file that says what each grade means, in place of raglift's.")
    ] = None,
    relevant_from: Annotated[int, typer.Option(help="The lowest grade that counts as relevant.")] = 1,
    fill: Annotated[
        bool, typer.Option("--fill", help="Keep the labels that are there; grades only where these say nothing.")
    ] = False,
    documents: Documents = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say what it would cost, and ask nothing.")] = False,
    max_cost: Annotated[
        float | None,
        typer.Option(
            help="US dollars: stop before the next request might cost more in all. By default 5, where the price is "
            "known."
        ),
    ] = None,
    price: Price = None,
    concurrency: Concurrency = 8,
    temperature: Temperature = "0",
    overwrite: Annotated[bool, typer.Option(help="Replace a file of labels that is already there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every grade and its reason.")] = False,
) -> None:
    """Let a language model grade what systems returned, and write the grades as labels."""
    from raglift.cli import grade as command
    from raglift.cli.model_options import model_and_limits

    asked, limits = model_and_limits(model, temperature, concurrency, max_cost, price)
    command.run(
        command.Request(
            runs=tuple(runs),
            output=output,
            depth=depth,
            scale=scale,
            rubric=rubric,
            relevant_from=relevant_from,
            fill=fill,
            documents=documents,
            model=asked,
            limits=limits,
            estimate=estimate,
            overwrite=overwrite,
            as_json=as_json,
        )
    )


@group.command()
def precision(
    runs: Annotated[list[Path], typer.Argument(help="Folders of saved evaluations, or the folder of a sweep.")],
    ks: Annotated[
        str | None,
        typer.Option("--ks", "-k", help="The depths, with commas; by default 1,3,5,10, as deep as the runs."),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(help='The answers that were given, which say what is useful: lines of {"id": …, "answer": …}.'),
    ] = None,
    model: LanguageModelName = "openai:gpt-4o-mini",
    estimate: Annotated[bool, typer.Option("--estimate", help="Say what it would cost, and ask nothing.")] = False,
    max_cost: Annotated[
        float | None,
        typer.Option(
            help="US dollars: stop before the next request might cost more in all. By default 5, where the price is "
            "known."
        ),
    ] = None,
    price: Price = None,
    concurrency: Concurrency = 8,
    temperature: Temperature = "0",
    seed: Annotated[int, typer.Option(help="Of the statistics.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every verdict and its reason.")] = False,
) -> None:
    """Let a language model say of each of the first hits whether it helps to answer. No labels are needed."""
    from raglift.cli import precision as command
    from raglift.cli.evaluate import numbers_of_hits
    from raglift.cli.model_options import model_and_limits

    asked, limits = model_and_limits(model, temperature, concurrency, max_cost, price)
    command.run(
        command.Request(
            runs=tuple(runs),
            ks=None if ks is None else numbers_of_hits(ks),
            answers=answers,
            model=asked,
            limits=limits,
            seed=seed,
            estimate=estimate,
            as_json=as_json,
        )
    )
