"""The commands about language models and people who judge; each is imported when it is run."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 — typer reads the annotations at run time
from typing import Annotated

import typer

from raglift.cli.arguments import (  # noqa: TC001 — typer reads the annotations at run time
    Concurrency,
    LanguageModelName,
    MaxCost,
    Price,
    Temperature,
)
from raglift.integrations.language_models import DEFAULT_MODEL

__all__ = ["group"]

group = typer.Typer(rich_markup_mode=None)


@group.command()
def generate(
    source: Annotated[
        str, typer.Argument(help="A corpus by name, a dataset's folder, or a file or folder of documents.")
    ],
    n: Annotated[int, typer.Option("-n", help="How many questions are wanted.")] = 50,
    output: Annotated[
        Path | None, typer.Option(help="Where to: a .jsonl file of queries, or a new folder with documents too.")
    ] = None,
    styles: Annotated[
        str, typer.Option(help="Which styles, with weights if not 1.")
    ] = "natural=4,keyword=2,multi=2,typo=1,unanswerable=1",
    seed: Annotated[int, typer.Option(help="Of the passages that are drawn, and of the mistakes in typing.")] = 0,
    passage_size: Annotated[int, typer.Option(help="The most characters of a passage that is asked about.")] = 800,
    model: LanguageModelName = DEFAULT_MODEL,
    temperature: Temperature = "0",
    concurrency: Concurrency = 8,
    max_cost: MaxCost = None,
    price: Price = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say what it would cost, and ask nothing.")] = False,
    report: Annotated[
        Path | None, typer.Option(help="Write what was thrown away and why to a .md or .json file.")
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace files that are already there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Let a language model write questions about a corpus, with labels, and throw away those that are no good."""
    from raglift.cli import generate as command

    command.run(
        command.Request(
            source=source,
            n=n,
            output=output,
            styles=styles,
            seed=seed,
            passage_size=passage_size,
            model=model,
            temperature=temperature,
            concurrency=concurrency,
            max_cost=max_cost,
            price=price,
            estimate=estimate,
            report=report,
            overwrite=overwrite,
            as_json=as_json,
        )
    )
