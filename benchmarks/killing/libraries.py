"""What every process of raglift imports sooner or later; the server that processes are forked from imports it once."""

import bm25s
import faiss
import langchain_openai
import pyarrow.parquet
import rich.console
import sentence_transformers
import torch
import uvicorn

import raglift.apps.generation.engine
import raglift.apps.review.server
import raglift.cli.app
import raglift.cli.evaluate
import raglift.cli.generate
import raglift.cli.grade
import raglift.cli.serving
import raglift.cli.sweep
import raglift.grading.grading
import raglift.report.page.rendering
import raglift.retrieval.embedding
import raglift.retrieval.rerankers
import raglift.running.evaluation
import raglift.running.systems

__all__ = [
    "bm25s",
    "faiss",
    "langchain_openai",
    "pyarrow",
    "raglift",
    "rich",
    "sentence_transformers",
    "torch",
    "uvicorn",
]
