"""Hashes of weights, settings and tokenisers: what tells two checkpoints apart in an encoder's identity, wherever they are."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from medsenteval.support.atomic_files import scratch_folder

_BLOCK: Final = 1 << 20
#: Entries of config.json that no forward pass in evaluation reads.
_CONFIG_WITHOUT_EFFECT: Final = re.compile(
    r"_name_or_path|transformers_version|(torch_)?dtype|architectures|auto_map|use_cache|id2label|label2id|_?num_labels|"
    r"finetuning_task|task_specific_params|problem_type|initializer_(range|factor)|return_dict|output_.*|.*drop(out)?(_prob)?|"
    r"_?attn_implementation.*|gradient_checkpointing|tie_word_embeddings|classifier_.*|summary_.*|(bos|eos|sep|cls|mask|decoder_start)_token_id"
)


def hash_state_dict(module_or_dict: Any) -> str:
    """Return a hash of every tensor of a torch module or state dictionary: its name, shape, dtype and bytes.

    The order of the entries and the device that holds them play no part, as neither can change a vector.
    """
    import torch

    state: Mapping[str, Any] = module_or_dict if isinstance(module_or_dict, Mapping) else module_or_dict.state_dict()
    digest = hashlib.sha256()
    for key in sorted(state):
        value = state[key]
        is_tensor = isinstance(value, torch.Tensor)  # else what a module's get_extra_state left, or a plain number
        told = f"{tuple(value.shape)}|{value.dtype}" if is_tensor else repr(value)
        digest.update(f"{key}|{told}\n".encode("utf-8", "surrogatepass"))
        if is_tensor:  # seen as bytes because NumPy has no bfloat16
            digest.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def hash_files(paths: Iterable[str | os.PathLike[str]]) -> str:
    """Return a hash of the contents of these files in this order; their names and folders play no part."""
    digest = hashlib.sha256()
    for path in paths:
        size = os.path.getsize(path)
        # The size goes first, so that bytes moved from one file's end to the next one's start are a difference.
        digest.update(size.to_bytes(8, "little"))
        with open(path, "rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()


def hash_config(config: Any) -> str:
    """Return a hash of the settings that can change a vector: those that differ from the defaults of their kind of model."""
    settings = {key: value for key, value in config.to_diff_dict().items() if not _CONFIG_WITHOUT_EFFECT.fullmatch(key)}
    # Version 5 of transformers writes these defaults out and version 4 does not.
    for key in ("is_decoder", "add_cross_attention"):
        if settings.get(key) is False:
            del settings[key]
    return hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()


def hash_tokenizer(tokenizer: Any) -> str:
    """Return a hash of what decides a text's word pieces; each call sets truncation and padding, and nothing is decoded."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        state = json.loads(backend.to_str())
        state.update(truncation=None, padding=None, decoder=None)
        return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
    with scratch_folder() as folder:
        contents = hash_files(sorted(tokenizer.save_vocabulary(str(folder))))
    switches: dict[str, Any] = {key: value for key, value in tokenizer.init_kwargs.items() if isinstance(value, bool)}
    switches.update(special=tokenizer.special_tokens_map, added=tokenizer.get_added_vocab(), kind=type(tokenizer).__name__)
    return hashlib.sha256((contents + json.dumps(switches, sort_keys=True, default=str)).encode()).hexdigest()
