"""Writes test/fixtures/llama: what transformers computes, for the TypeScript to be held against.

Owns the tiny random models and the expected numbers of them and of the trained model. Refuses to touch the trained
model itself, which train.py makes and which has to be there.

    v/bin/python examples/llama/train/make_fixtures.py

Each expected.safetensors holds `tokens` (I32, 32 of them), `logits` (F32, after each of the tokens, computed in float32
from the stored weights, eight tokens at once and the others one by one over the cache) and `greedy` (I32, what follows the
first eight tokens when the likeliest token is always taken). The trained model's text goes to kjv-llama/expected.json.
"""

import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config, Qwen3Config

ROOT = Path(__file__).resolve().parents[3]
TRAINED = ROOT / "examples" / "models" / "kjv-llama"
FIXTURES = ROOT / "test" / "fixtures" / "llama"
TOKENS, PREFILL, GREEDY = 32, 8, 24
PROMPTS = ["In the beginning God", "And Jesus said unto them, ", "The LORD is my", "naïve — 東京"]
NEW_TOKENS = 48

SMALL = {
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 56,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "bos_token_id": None,
    "eos_token_id": None,
}
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
TINY = {
    # Between them: three dtypes, tied and untied, biases, norms of queries and keys, one key head and several, sizes that
    # no block divides.
    "llama": (LlamaConfig(**SMALL, rope_parameters=LLAMA3_ROPE, tie_word_embeddings=False), torch.bfloat16),
    "llama-biases": (
        LlamaConfig(**{**SMALL, "num_key_value_heads": 4}, attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
        torch.float32,
    ),
    "qwen2": (Qwen2Config(**SMALL, tie_word_embeddings=True), torch.float16),
    "qwen3": (Qwen3Config(**{**SMALL, "num_key_value_heads": 1}, head_dim=12, tie_word_embeddings=False), torch.bfloat16),
    "qwen3-biases": (
        Qwen3Config(
            **{**SMALL, "hidden_size": 27, "intermediate_size": 35, "num_attention_heads": 3, "num_key_value_heads": 1},
            head_dim=10,
            attention_bias=True,
            tie_word_embeddings=True,
        ),
        torch.float16,
    ),
}  # fmt: skip


@torch.no_grad()
def expectations(model, tokens):
    """Logits after each token, over the cache, and the greedy continuation of the first ones."""
    first = model(input_ids=tokens[:PREFILL].unsqueeze(0), use_cache=True)
    rows, cache = [first.logits[0]], first.past_key_values
    for token in tokens[PREFILL:]:
        step = model(input_ids=token.view(1, 1), past_key_values=cache, use_cache=True)
        rows.append(step.logits[0])
    greedy = tokens[:PREFILL].clone()
    for _ in range(GREEDY):
        logits = model(input_ids=greedy.unsqueeze(0)).logits[0, -1]
        greedy = torch.cat([greedy, logits.argmax().view(1)])
    return {
        "tokens": tokens.to(torch.int32),
        "logits": torch.cat(rows).contiguous(),
        "greedy": greedy[PREFILL:].to(torch.int32),
    }


def write_tiny(name, config, dtype):
    directory = FIXTURES / name
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    torch.manual_seed(len(name))
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            # Spread widely, so that a wrong step of the computation shows in every logit.
            if "norm" in parameter_name:
                parameter.uniform_(0.5, 1.5)
            else:
                parameter.normal_(0, 0.25)
    model.to(dtype).save_pretrained(directory)
    model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32).eval()
    save_file(expectations(model, torch.randint(config.vocab_size, (TOKENS,))), directory / "expected.safetensors")
    (directory / "generation_config.json").unlink(missing_ok=True)


def write_trained():
    directory = FIXTURES / "kjv-llama"
    directory.mkdir(parents=True, exist_ok=True)
    model = AutoModelForCausalLM.from_pretrained(TRAINED, dtype=torch.float32).eval()
    tokenizer = Tokenizer.from_file(str(TRAINED / "tokenizer.json"))
    text = "And there was a man in the land, whose name was Jared; and he begat sons and daughters, and he died, being old."
    tokens = torch.tensor(tokenizer.encode(text).ids[:TOKENS])
    assert len(tokens) == TOKENS
    save_file(expectations(model, tokens), directory / "expected.safetensors")
    texts = []
    for prompt in PROMPTS:
        ids = tokenizer.encode(prompt).ids
        out = model.generate(torch.tensor([ids]), do_sample=False, max_new_tokens=NEW_TOKENS, max_length=None)[0].tolist()
        new = [token for token in out[len(ids) :] if token != model.config.eos_token_id]
        texts.append({"prompt": prompt, "promptTokens": ids, "tokens": new, "text": tokenizer.decode(new)})
    expected = {"maxTokens": NEW_TOKENS, "greedy": texts}
    (directory / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    for name, (config, dtype) in TINY.items():
        write_tiny(name, config, dtype)
    write_trained()
