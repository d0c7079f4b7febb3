"""Folders and files of models, mutated: what checks them before a library is asked, and small ones that are loaded whole.

Those of ``whole_models`` import torch, which takes seconds and memory; a campaign reads them with ``--whole-models``.
"""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path
from typing import Any, Final

import numpy as np

from medsenteval.encoders.contextual.elmo import _read_weights, read_options
from medsenteval.encoders.contextual.model_folder import check_model_folder, check_modules
from medsenteval.encoders.contextual.use import checked_files
from medsenteval.encoders.endpoint import EndpointEncoder
from medsenteval.encoders.static import model2vec
from medsenteval.errors import EncoderError
from tests.fuzz.reader import Files, Reader, as_json
from tests.fuzz.result_readers import mutate_json

__all__ = ["MODEL_READERS", "whole_models"]

_WORDS: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "heart", "lung", "##s", "a")
_BERT: Final = {
    "model_type": "bert", "architectures": ["BertModel"], "vocab_size": len(_WORDS), "hidden_size": 4, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 4, "max_position_embeddings": 16,
}  # fmt: skip


def _safetensors(tensors: dict[str, Any]) -> bytes:
    """The format in ten lines: a length, a header in JSON, numbers."""
    header, data = {}, b""
    for name, array in tensors.items():
        kind = {"f": "F32", "i": "I32"}[array.dtype.kind]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def _numbers(*shape: int) -> Any:
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


def _bert_weights() -> bytes:
    layer, embeddings = "encoder.layer.0.", "embeddings."
    shapes: dict[str, tuple[int, ...]] = {
        f"{embeddings}word_embeddings.weight": (len(_WORDS), 4), f"{embeddings}position_embeddings.weight": (16, 4),
        f"{embeddings}token_type_embeddings.weight": (2, 4), f"{embeddings}LayerNorm.weight": (4,),
        f"{embeddings}LayerNorm.bias": (4,), "pooler.dense.weight": (4, 4), "pooler.dense.bias": (4,),
    }  # fmt: skip
    for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
                 "intermediate.dense", "output.dense"):  # fmt: skip
        shapes |= {f"{layer}{part}.weight": (4, 4), f"{layer}{part}.bias": (4,)}
    for part in ("attention.output.LayerNorm", "output.LayerNorm"):
        shapes |= {f"{layer}{part}.weight": (4,), f"{layer}{part}.bias": (4,)}
    return _safetensors({name: _numbers(*shape) for name, shape in shapes.items()})


def _tokenizer() -> dict[str, Any]:
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": i, "content": _WORDS[i], "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
             "special": True}
            for i in range(5)
        ],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                       "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {word: i for i, word in enumerate(_WORDS)}},
    }  # fmt: skip


_TRANSFORMER: Final[Files] = {
    "config.json": as_json(_BERT),
    "tokenizer.json": as_json(_tokenizer()),
    "tokenizer_config.json": as_json({"tokenizer_class": "BertTokenizerFast", "do_lower_case": True, "model_max_length": 16}),
    "special_tokens_map.json": as_json({"unk_token": "[UNK]", "pad_token": "[PAD]"}),
    "vocab.txt": "\n".join(_WORDS).encode(),
    "model.safetensors": _bert_weights(),
}

_LIBRARY: Final = "sentence_transformers.models."
_SENTENCE_TRANSFORMER: Final[Files] = {
    **_TRANSFORMER,
    "modules.json": as_json([
        {"idx": 0, "name": "0", "path": "", "type": f"{_LIBRARY}Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{_LIBRARY}Pooling"},
        {"idx": 2, "name": "2", "path": "2_Dense", "type": f"{_LIBRARY}Dense"},
    ]),
    "config_sentence_transformers.json": as_json({"prompts": {"query": "q: "}, "default_prompt_name": None}),
    "sentence_bert_config.json": as_json({"max_seq_length": 16, "do_lower_case": False}),
    "1_Pooling/config.json": as_json({"word_embedding_dimension": 4, "pooling_mode_mean_tokens": True}),
    "2_Dense/config.json": as_json(
        {"in_features": 4, "out_features": 3, "bias": True, "activation_function": "torch.nn.modules.activation.Tanh"}
    ),
    "2_Dense/model.safetensors": _safetensors({"linear.weight": _numbers(3, 4), "linear.bias": _numbers(3)}),
}  # fmt: skip

_ROUTER: Final[Files] = {
    "modules.json": as_json([{"idx": 0, "name": "0", "path": "", "type": f"{_LIBRARY}Router"}]),
    "router_config.json": as_json({
        "types": {"query_0_Dense": f"{_LIBRARY}Dense", "document_0_Dense": f"{_LIBRARY}Dense"},
        "structure": {"query": ["query_0_Dense"], "document": ["document_0_Dense"]},
        "parameters": {"default_route": "query", "allow_empty_key": True},
    }),
    "query_0_Dense/config.json": _SENTENCE_TRANSFORMER["2_Dense/config.json"],
    "document_0_Dense/config.json": _SENTENCE_TRANSFORMER["2_Dense/config.json"],
}  # fmt: skip

_STATIC: Final[Files] = {
    "config.json": as_json({"normalize": True, "hidden_dim": 3}),
    "tokenizer.json": _TRANSFORMER["tokenizer.json"],
    "model.safetensors": _safetensors(
        {"embeddings": _numbers(4, 3), "weights": np.ones(9, np.float32), "mapping": np.arange(9, dtype=np.int32) % 4}
    ),
}
_TEXTS: Final = ["heart lungs", "", "Ärzte\u200b" * 3, "x" * 300]


def _static(folder: Path) -> Any:
    rows = model2vec.load(str(folder)).encode(_TEXTS)
    return rows.shape if np.isfinite(rows).all() else "not finite, which is refused later"


def _elmo_files() -> Files:
    import h5py

    options = {
        "char_cnn": {"max_characters_per_token": 10, "embedding": {"dim": 2}, "filters": [[1, 2]], "activation": "relu",
                     "n_highway": 1},
        "lstm": {"dim": 2, "n_layers": 1, "projection_dim": 2, "cell_clip": 3, "proj_clip": 3, "use_skip_connections": True},
    }  # fmt: skip
    stream = io.BytesIO()
    shapes = {
        "char_embed": (261, 2), "CNN/W_cnn_0": (1, 1, 2, 2), "CNN/b_cnn_0": (2,), "CNN_high_0/W_carry": (2, 2),
        "CNN_high_0/b_carry": (2,), "CNN_high_0/W_transform": (2, 2), "CNN_high_0/b_transform": (2,),
        "CNN_proj/W_proj": (2, 2), "CNN_proj/b_proj": (2,),
    }  # fmt: skip
    for way in (0, 1):
        cell = f"RNN_{way}/RNN/MultiRNNCell/Cell0/LSTMCell"
        shapes |= {f"{cell}/W_0": (4, 8), f"{cell}/B": (8,), f"{cell}/W_P_0": (2, 2)}
    with h5py.File(stream, "w") as file:
        for name, shape in shapes.items():
            file.create_dataset(name, data=_numbers(*shape), compression="gzip" if len(shape) == 2 else None)
    return {"o.json": as_json(options), "w.hdf5": stream.getvalue()}


def _elmo(folder: Path) -> Any:
    for name in ("o.json", "w.hdf5"):
        if not (folder / name).is_file():
            raise EncoderError("the command line asks for both files")
    return len(_read_weights(folder / "w.hdf5", read_options(folder / "o.json")))


def _answer(folder: Path) -> Any:
    encoder: Any = EndpointEncoder("http://127.0.0.1:9/v1#m")
    body = (folder / "answer.json").read_bytes()

    async def answered(batches: list[list[str]]) -> list[Any]:
        return [encoder._vectors(body, len(batch)) for batch in batches]

    encoder._embed_all = answered
    return encoder.encode(["a", "b"]).shape


def _whole(kind: str) -> Any:
    def read(folder: Path) -> Any:
        from medsenteval.registry import load_encoder

        rows = load_encoder(f"{kind}:{folder}").encode(_TEXTS)
        return rows.shape

    return read


def _torch_files() -> Files:
    """A state dictionary as InferSent's, in both layouts of torch.save."""
    import torch

    sizes = {"weight_ih": (8, 3), "weight_hh": (8, 2), "bias_ih": (8,), "bias_hh": (8,)}
    state = {
        f"enc_lstm.{name}_l0{way}": torch.from_numpy(_numbers(*shape))
        for way in ("", "_reverse")
        for name, shape in sizes.items()
    }
    found = {}
    for name, is_zip in (("new.pkl", True), ("old.pkl", False)):
        stream = io.BytesIO()
        torch.save(state, stream, _use_new_zipfile_serialization=is_zip)
        found[name] = stream.getvalue()
    return found


def _torch(folder: Path) -> Any:
    from medsenteval.encoders.contextual.infersent import _read_state
    from medsenteval.encoders.contextual.torch_file import read_torch_file

    outcomes: list[int | str] = []
    for file in sorted(folder.glob("*.pkl")):
        try:
            outcomes.append(len(_read_state(file)))
        except EncoderError:
            outcomes.append(-1)
        try:
            read_torch_file(file, "expected is a model")
        except EncoderError as error:
            outcomes.append(type(error.__cause__).__name__)
    return str(outcomes)


MODEL_READERS: Final = (
    Reader("folder of transformers", _TRANSFORMER, lambda folder: check_model_folder(folder, "t"), mutate=mutate_json),
    Reader(
        "folder of sentence-transformers",
        _SENTENCE_TRANSFORMER,
        lambda folder: check_modules(folder, weights=True),
        mutate=mutate_json,
    ),
    Reader("folder with a router", _ROUTER, lambda folder: check_modules(folder, weights=True), mutate=mutate_json),
    Reader("folder of model2vec", _STATIC, _static, mutate=mutate_json),
    Reader(
        "files of a SavedModel",
        {
            "saved_model.pb": b"\x08\x01\x12\x05hello",
            "variables/variables.index": b"x",
            "variables/variables.data-00000-of-00001": b"y",
            "assets/tokens.txt": b"heart\n",
        },
        checked_files,
    ),
    Reader("ELMo weights", _elmo_files(), _elmo, mutate=mutate_json, weight=0.5),
    Reader(
        "answer of a server",
        {
            "answer.json": as_json({
                "data": [{"index": 0, "embedding": [1.0, 2.0]}, {"index": 1, "embedding": [3, 4.0]}],
                "usage": {"total_tokens": 3},
            })
        },
        _answer,
        mutate=mutate_json,
    ),
)  # fmt: skip


def whole_models() -> tuple[Reader, ...]:
    """Return the readers that load models whole; torch is imported for their files."""
    return (
        Reader("torch files", _torch_files(), _torch),
        Reader("transformers, loaded", _TRANSFORMER, _whole("transformers"), mutate=mutate_json, weight=0.2),
        Reader(
            "sentence-transformers, loaded", _SENTENCE_TRANSFORMER, _whole("sentence-transformers"), mutate=mutate_json,
            weight=0.2,
        ),
    )  # fmt: skip
