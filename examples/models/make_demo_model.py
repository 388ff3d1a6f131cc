"""Trains number_language.safetensors: which of eight languages is a number written in? Seconds on one core.

Owns the demo's model, from its data to its file. Refuses downloads: number_words.py makes every word it learns from.

    python -m venv v && v/bin/pip install safetensors==0.8.0 numpy torch
    v/bin/python examples/models/make_demo_model.py

A text is its n-grams of 1 to 4 UTF-8 bytes between the marks ^ and $, each hashed by FNV-1a (32 bits) into a row of the
embedding; the rows' mean goes through two layers with ReLU, a layer norm and the classifier.

number_language.expected.json holds the logits of a few texts, for another implementation to compare with.
"""

import json
import random
import struct
from pathlib import Path

import safetensors.torch
import torch
from number_words import LANGUAGES
from torch import nn

SEED = 7
HERE = Path(__file__).parent
CONFIG = {
    "architecture": "HashedNgramClassifier",
    "labels": sorted(LANGUAGES),
    "ngrams": {"sizes": [1, 2, 3, 4], "unit": "utf-8 byte", "begin": "^", "end": "$", "hash": "fnv1a-32"},
    "buckets": 2048,
    "embedding_size": 24,
    "hidden_size": 48,
    "layer_norm_eps": 1e-5,
}
EXAMPLES = [
    "twenty-one", "achtundneunzig", "mille neuf cent quatre-vingt-quatre", "settantasette", "zeshonderd",
    "setecentos e um", "ochocientos dos", "tvåtusen fem", "zero", "sept", "elf", "quatro mil", "huit cents", "",
]  # fmt: skip


def fnv1a(data):
    state = 0x811C9DC5
    for byte in data:
        state = ((state ^ byte) * 0x01000193) & 0xFFFFFFFF
    return state


def features(text):
    data = f"^{text}$".encode()
    sizes = CONFIG["ngrams"]["sizes"]
    return [fnv1a(data[i : i + n]) % CONFIG["buckets"] for n in sizes for i in range(len(data) - n + 1)]


class Encoder(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(size, hidden), nn.Linear(hidden, size)])
        self.norm = nn.LayerNorm(size, eps=CONFIG["layer_norm_eps"])

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.norm(x)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        size = CONFIG["embedding_size"]
        self.embedding = nn.EmbeddingBag(CONFIG["buckets"], size, mode="mean")
        self.encoder = Encoder(size, CONFIG["hidden_size"])
        self.classifier = nn.Linear(size, len(CONFIG["labels"]))

    def forward(self, texts):
        bags = [features(text) for text in texts]
        offsets = torch.tensor([0] + [len(bag) for bag in bags[:-1]]).cumsum(0)
        return self.classifier(self.encoder(self.embedding(torch.tensor([x for bag in bags for x in bag]), offsets)))


def misspell(text, rng, chance):
    """A letter is lost, so that the model does not hang on one of them."""
    if len(text) < 4 or rng.random() >= chance:
        return text
    at = rng.randrange(len(text))
    return text[:at] + text[at + 1 :]


def accuracy(model, rows):
    with torch.no_grad():
        found = model([text for text, _ in rows]).argmax(1)
    return (found == torch.tensor([label for _, label in rows])).float().mean().item()


def train():
    rng = random.Random(SEED)
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    numbers = list(range(10000))
    rng.shuffle(numbers)
    # The words that all others are made of come often; no number of the held-out part is seen, in any language.
    words = [*range(21), *range(30, 100, 10), *range(100, 1000, 100), *range(1000, 10000, 1000)]
    held_out = [n for n in numbers[9000:] if n not in words]
    rows, unseen = (
        [(LANGUAGES[name](n), label) for n in part for label, name in enumerate(CONFIG["labels"])]
        for part in (numbers[:1200] + words * 20, held_out)
    )
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(4):
        rng.shuffle(rows)
        for i in range(0, len(rows), 64):
            batch = [(misspell(text, rng, 0.3), label) for text, label in rows[i : i + 64]]
            loss = nn.functional.cross_entropy(model([text for text, _ in batch]), torch.tensor([y for _, y in batch]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.4f}, accuracy on unseen numbers {accuracy(model, unseen):.4f}")
    damaged = [(misspell(text, rng, 1), label) for text, label in unseen]
    return model.eval(), accuracy(model, unseen), accuracy(model, damaged)


def save(model, metadata):
    """The reference writes metadata in the order of a seeded hash; repeat until sorted, for the same bytes each run."""
    while True:
        content = safetensors.torch.save(model.state_dict(), metadata=metadata)
        (length,) = struct.unpack("<Q", content[:8])
        if list(json.loads(content[8 : 8 + length])["__metadata__"]) == sorted(metadata):
            return content


def main():
    model, clean, damaged = train()
    metadata = {
        "format": "pt",
        "task": "language identification of number words (0-9999)",
        "accuracy": json.dumps({"unseen_numbers": round(clean, 4), "with_a_letter_lost": round(damaged, 4)}),
        "license": "Apache-2.0",
        "config": json.dumps(CONFIG),
    }
    content = save(model, metadata)
    (HERE / "number_language.safetensors").write_bytes(content)
    with torch.no_grad():
        logits = model(EXAMPLES).tolist()
    rows = [json.dumps({"text": text, "logits": [round(x, 4) for x in row]}) for text, row in zip(EXAMPLES, logits)]
    (HERE / "number_language.expected.json").write_text("[\n" + ",\n".join(rows) + "\n]\n")
    for text, row in zip(EXAMPLES, logits):
        print(f"{text!r}: {CONFIG['labels'][max(range(len(row)), key=row.__getitem__)]}")
    print(f"{len(content)} bytes")


if __name__ == "__main__":
    main()
