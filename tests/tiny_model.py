"""A tiny language model of a real architecture, made in a second: ``python tiny_model.py FOLDER``.

Run by the Python that has vLLM, whose ``transformers`` and ``tokenizers`` it uses. It writes
nonsense, in Latin letters and Chinese, as fast as a real one writes sense.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

ROOT = Path(__file__).parents[1]
TEXTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("data/text/*.toml")])
BEGIN, END = "<|im_start|>", "<|im_end|>"
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level BPE, trained on this project's own texts in both languages."""
    learnt = Tokenizer(models.BPE())
    learnt.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    learnt.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=4000,
        special_tokens=[BEGIN, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    learnt.train([str(file) for file in TEXTS], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=learnt, eos_token=END, pad_token=END, chat_template=TEMPLATE
    )


def make(folder: Path) -> None:
    words = tokenizer()
    torch.manual_seed(7)
    config = Qwen2Config(
        vocab_size=len(words),
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        eos_token_id=words.eos_token_id,
        bos_token_id=None,
        tie_word_embeddings=True,
    )
    words.save_pretrained(folder)
    Qwen2ForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
