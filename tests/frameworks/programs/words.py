"""Embeddings without a model: texts that share words are near each other."""

from __future__ import annotations

import re

# One dimension a word; the last one is for all others, so that no vector is zero.
VOCABULARY = ("seat", "window", "train", "plane", "soup", "bread", "spicy", "vegan")
DIMENSIONS = len(VOCABULARY) + 1


def embed(text: str) -> list[float]:
    """Return the counts of the vocabulary's words in a text."""
    words = re.findall(r"[a-z]+", text.lower())
    return [*(float(words.count(word)) for word in VOCABULARY), 0.125]
