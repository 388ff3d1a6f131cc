"""Trains examples/models/kjv-llama: a Llama of 1.8 million parameters that writes in the manner of the King James Bible.

Owns the model from its text to its directory, as Hugging Face lays one out. Refuses a GPU, downloads and other texts.

    apt-get install bible-kjv
    python -m venv v && v/bin/pip install torch transformers tokenizers safetensors
    v/bin/python examples/llama/train/train.py --minutes 25

It learns for as long as it is told to, on one core; the rates follow the clock. Versions that made the committed files:
torch 2.13.0, transformers 5.18.0, tokenizers 0.23.2, safetensors 0.8.0. Another run makes another model.
"""

import argparse
import json
import math
import time
from pathlib import Path

import torch
from text import chapters
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

SEED = 11
BEGIN, END = "<|begin_of_text|>", "<|end_of_text|>"
VOCABULARY = 1024
CONTEXT = 256
BATCH = 8
WARMUP = 30  # steps
MUON_RATE, ADAM_RATE = 0.02, 3e-3  # at their peak
HELD_OUT = 40  # every 40th chapter is for measuring the loss, not for learning
DIRECTORY = Path(__file__).resolve().parents[2] / "models" / "kjv-llama"


def make_tokenizer(texts):
    """Byte-level BPE, as Llama 3 and Qwen have it, so that any text can be encoded."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[BEGIN, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", special_tokens=[(BEGIN, tokenizer.token_to_id(BEGIN))]
    )
    return tokenizer


def make_model(tokenizer):
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=192,
            intermediate_size=512,
            num_hidden_layers=4,
            num_attention_heads=6,
            num_key_value_heads=2,
            head_dim=32,
            max_position_embeddings=CONTEXT,
            rms_norm_eps=1e-5,
            tie_word_embeddings=True,
            bos_token_id=tokenizer.token_to_id(BEGIN),
            eos_token_id=tokenizer.token_to_id(END),
        )
    )


def stream(tokenizer, texts):
    """All texts in one row of token numbers, each between its two marks."""
    end = tokenizer.token_to_id(END)
    return torch.tensor([token for item in tokenizer.encode_batch(texts) for token in [*item.ids, end]])


def optimizers(model):
    """Muon for the layers' matrices, which learns more from few steps; AdamW for the embedding and the norms."""
    matrices = [p for p in model.model.layers.parameters() if p.ndim == 2]
    chosen = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in chosen]
    return [
        torch.optim.Muon(matrices, lr=MUON_RATE, momentum=0.95, weight_decay=0.01),
        torch.optim.AdamW(others, lr=ADAM_RATE, betas=(0.9, 0.95), weight_decay=0.0),
    ]


def share_of_rate(step, way):
    """Rises over the first steps, then falls along a cosine to a twentieth; `way` is the part of the time that is over."""
    return min(1, (step + 1) / WARMUP) * (0.05 + 0.95 * (1 + math.cos(math.pi * way)) / 2)


@torch.no_grad()
def loss_on(model, tokens):
    """Mean cross entropy per token over consecutive windows."""
    windows = tokens[: len(tokens) // CONTEXT * CONTEXT].view(-1, CONTEXT)
    losses = [model(input_ids=part, labels=part).loss.item() * len(part) for part in windows.split(BATCH)]
    return sum(losses) / len(windows)


def write(model, tokenizer, directory):
    """The reference writer's files: weights in BF16 in two shards, their index, the configurations, the tokenizer."""
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob("*.safetensors*"):
        old.unlink()
    narrow = LlamaForCausalLM(model.config).to(torch.bfloat16)
    narrow.load_state_dict(model.state_dict())
    narrow.generation_config = GenerationConfig(
        bos_token_id=model.config.bos_token_id, eos_token_id=model.config.eos_token_id, max_length=CONTEXT
    )
    narrow.save_pretrained(directory, max_shard_size="2MB")
    tokenizer.save(str(directory / "tokenizer.json"))
    kind = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": BEGIN, "eos_token": END}
    (directory / "tokenizer_config.json").write_text(json.dumps(kind, indent=2) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=25)
    parser.add_argument("--directory", type=Path, default=DIRECTORY)
    arguments = parser.parse_args()

    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    texts = chapters()
    learned = [text for i, text in enumerate(texts) if i % HELD_OUT != HELD_OUT - 1]
    held_out = [text for i, text in enumerate(texts) if i % HELD_OUT == HELD_OUT - 1]
    tokenizer = make_tokenizer(learned)
    tokens, unseen = stream(tokenizer, learned), stream(tokenizer, held_out)
    model = make_model(tokenizer)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters, {len(tokens):,} tokens", flush=True)

    learners = optimizers(model)
    peaks = [learner.param_groups[0]["lr"] for learner in learners]
    began, step, way = time.monotonic(), 0, 0.0
    while way < 1:
        way = min(1, (time.monotonic() - began) / (60 * arguments.minutes))
        starts = torch.randint(len(tokens) - CONTEXT, (BATCH,)).tolist()
        batch = torch.stack([tokens[start : start + CONTEXT] for start in starts])
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for learner, peak in zip(learners, peaks):
            learner.param_groups[0]["lr"] = peak * share_of_rate(step, way)
            learner.step()
            learner.zero_grad(set_to_none=True)
        step += 1
        if step % 25 == 0:
            print(f"{step} loss {loss.item():.3f}, {way:.0%}", flush=True)
        if way == 1 or step % 300 == 0:
            print(f"{step} loss on unseen chapters {loss_on(model, unseen):.3f}", flush=True)
            write(model, tokenizer, arguments.directory)


if __name__ == "__main__":
    main()
