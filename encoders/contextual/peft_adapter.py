"""Adapters of PEFT (LoRA and its relatives), merged into the model that the user names beside them.

An adapter's own settings name a base model too, but a stranger's file must not choose what is loaded: the base is always the
user's word. A merged model is a plain one, so that its weights tell it apart like any other's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from medsenteval.encoders.contextual.model_folder import find_model, read_json
from medsenteval.encoders.fingerprint import hash_files
from medsenteval.errors import EncoderError, MissingExtraError

__all__ = ["PeftAdapter"]

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
        made_as = str(read_json(settings, dict, kind).get("peft_type"))
        if made_as not in _MERGED:
            raise EncoderError(f"{kind}: adapter: {settings} is of peft_type {made_as}; it can be {' or '.join(_MERGED)}")
        if revision:
            from huggingface_hub import hf_hub_download

            try:
                hf_hub_download(argument, _WEIGHTS, **revision)
            except Exception as error:  # whatever the network, the hub or its cache brings
                raise EncoderError(f"{kind}: adapter: {argument!r} could not be loaded: {error}") from error
        if not (folder / _WEIGHTS).is_file():
            raise EncoderError(f"{kind}: adapter: {folder} has no {_WEIGHTS}; other files of weights are not read")
        self._folder = folder
        self.key = hash_files([settings, folder / _WEIGHTS])

    @property
    def name(self) -> str:
        return Path(self._argument).name

    def merged_into(self, model: Any) -> Any:
        """Return the model with the adapter's change added to its weights."""
        try:
            from peft import PeftModel
        except ImportError as error:
            raise MissingExtraError("adapter=", "peft", "peft") from error
        try:
            return PeftModel.from_pretrained(model, str(self._folder)).merge_and_unload().eval()
        except Exception as error:  # the library lets through whatever its parsers raise
            raise EncoderError(f"{self._kind}: the adapter {self._argument!r} does not fit the model: {error}") from error
