"""Adapters of PEFT (LoRA and its relatives), merged into the model that the user names beside them.

An adapter's own settings name a base model too, but a stranger's file must not choose what is loaded: the base is always the
user's word. A merged model is a plain one, so that its weights tell it apart like any other's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from medsenteval.encoders.contextual.model_folder import fetch_from_hub, find_model, is_allowed
from medsenteval.encoders.fingerprint import hash_files
from medsenteval.encoders.model_files import read_json
from medsenteval.errors import EncoderError, import_extra

_WEIGHTS: Final = "adapter_model.safetensors"
#: Adapters whose change can be added to the weights; others (prompts, prefixes) change what a text is.
_MERGED: Final = ("ADALORA", "BOFT", "IA3", "LOHA", "LOKR", "LORA", "OFT", "VERA")


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
        if odd := [key for key, value in content.items() if value and not is_allowed("adapter_settings", key)]:
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
