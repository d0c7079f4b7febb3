"""Adapters of PEFT (LoRA and its relatives), merged into the model that the user names beside them.

An adapter's own settings name a base model too, but a stranger's file must not choose what is loaded: the base is always the
user's word. A merged model is a plain one, so that its weights tell it apart like any other's.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from medsenteval.encoders.contextual.model_folder import fetch_from_hub, find_model
from medsenteval.encoders.fingerprint import hash_files
from medsenteval.encoders.model_files import read_json
from medsenteval.errors import EncoderError, import_extra

_WEIGHTS: Final = "adapter_model.safetensors"
#: Adapters whose change can be added to the weights; others (prompts, prefixes) change what a text is.
_MERGED: Final = ("ADALORA", "BOFT", "IA3", "LOHA", "LOKR", "LORA", "OFT", "VERA")
#: Settings that may be set. By some of the others PEFT imports a module that the file names, or reads a file of its choice.
_KNOWN: Final = re.compile(
    r"r|alpha|auto_mapping|base_model_name_or_path|beta[12]|bias|block_share|boft_\w+|coft|d_initial|decompose_(both|factor)"
    r"|deltaT|ensure_weight_tying|eps|(eva|loftq)_config|exclude_modules|fan_in_fan_out|feedforward_modules|inference_mode"
    r"|init_\w+|layer_replication|layers_(pattern|to_transform)|lora_(alpha|bias|dropout)|megatron_core|module_dropout"
    r"|modules_to_save|num_cayley_neumann_terms|oft_block_size|orth_reg_weight|peft_(type|version)|projection_prng_key"
    r"|qalora_group_size|(alpha|rank)_pattern|rank_dropout(_scale)?|revision|save_projection|target_(modules|parameters|r)"
    r"|task_type|tfinal|tinit|total_step|trainable_token_indices|use_(cayley_neumann|dora|effective_conv2d|qalora|rslora)"
    r"|vera_dropout"
)


class PeftAdapter:
    """The adapter in a folder or under an ID of the hub; ``key`` is a hash of its files or revision."""

    def __init__(self, argument: str, kind: str) -> None:
        self._kind, self._argument = kind, argument
        folder, _, revision = find_model(argument, f"{kind}: adapter")
        settings = folder / "adapter_config.json"
        if not settings.is_file():
            raise EncoderError(f"{kind}: adapter: {folder} has no adapter_config.json; expected is a folder as PEFT saves it")
        content = read_json(settings, dict, kind)
        made_as = str(content.get("peft_type"))
        if made_as not in _MERGED:
            raise EncoderError(f"{kind}: adapter: {settings} is of peft_type {made_as}; it can be {' or '.join(_MERGED)}")
        if odd := [key for key, value in content.items() if value and not _KNOWN.fullmatch(key)]:
            raise EncoderError(f"{kind}: adapter: {settings} sets {odd[0]!r}, which no merged adapter needs; remove it")
        if revision:
            fetch_from_hub(f"{kind}: adapter", argument, [_WEIGHTS], **revision)
        if not (folder / _WEIGHTS).is_file():
            raise EncoderError(f"{kind}: adapter: {folder} has no {_WEIGHTS}; other files of weights are not read")
        self._folder = folder
        self.name = Path(argument).name
        self.key = hash_files([settings, folder / _WEIGHTS])

    def merged_into(self, model: Any) -> Any:
        """Return the model with the adapter's change added to its weights."""
        peft = import_extra("peft", "adapter=", "peft")
        try:
            return peft.PeftModel.from_pretrained(model, str(self._folder)).merge_and_unload().eval()
        except Exception as error:  # the library lets through whatever its parsers raise
            raise EncoderError(f"{self._kind}: the adapter {self._argument!r} does not fit the model: {error}") from error
