#!/usr/bin/env python3
"""Writes a BERT sentence-transformer as an f32 ONNX file, for comparison with ONNX Runtime.

Usage: scripts/export_onnx.py MODEL_DIR OUT.onnx [--int8 OUT8.onnx]
Needs: pip install numpy onnx onnxruntime (the last for --int8)

The graph is the usual one, in plain operators that ONNX Runtime fuses when it loads them. It
includes mean pooling and normalisation; its inputs are input_ids, attention_mask and
token_type_ids. --int8 also writes a file with weights quantised by onnxruntime's own dynamic
quantisation.
"""
import argparse
import json
import struct
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def read_safetensors(path):
    """{name: array} of the f32 tensors of a file."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + length])
    tensors = {}
    for name, about in header.items():
        if name == "__metadata__" or about["dtype"] != "F32":
            continue
        start, end = about["data_offsets"]
        data = np.frombuffer(raw, np.float32, (end - start) // 4, 8 + length + start)
        tensors[name] = data.reshape(about["shape"])
    return tensors


class Graph:
    """Nodes and constants under construction; every method returns the name of its output."""

    def __init__(self, weights, config):
        self.weights, self.config = weights, config
        self.nodes, self.constants, self.known = [], [], {}

    def constant(self, array, name=None):
        array = np.array(array, order="C")
        key = name or f"constant_{array.dtype}_{array.tolist()}"
        if key not in self.known:
            self.known[key] = f"c{len(self.known)}"
            self.constants.append(numpy_helper.from_array(array, self.known[key]))
        return self.known[key]

    def op(self, kind, *inputs, **attributes):
        out = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], **attributes))
        return out

    def linear(self, x, name):
        weight = self.constant(self.weights[f"{name}.weight"].T, f"{name}.weight")
        bias = self.constant(self.weights[f"{name}.bias"], f"{name}.bias")
        return self.op("Add", self.op("MatMul", x, weight), bias)

    def norm(self, x, name):
        gain = self.constant(self.weights[f"{name}.weight"], f"{name}.weight")
        shift = self.constant(self.weights[f"{name}.bias"], f"{name}.bias")
        return self.op("LayerNormalization", x, gain, shift, axis=-1,
                       epsilon=self.config["layer_norm_eps"])

    def gelu(self, x):
        erf = self.op("Erf", self.op("Div", x, self.constant(np.float32(2 ** 0.5))))
        one = self.op("Add", erf, self.constant(np.float32(1)))
        return self.op("Mul", self.op("Mul", x, one), self.constant(np.float32(0.5)))

    def heads(self, x, turned):
        count = self.config["num_attention_heads"]
        shape = [0, 0, count, self.config["hidden_size"] // count]
        x = self.op("Reshape", x, self.constant(np.array(shape, np.int64)))
        return self.op("Transpose", x, perm=[0, 2, 3, 1] if turned else [0, 2, 1, 3])

    def embeddings(self):
        words = self.constant(self.weights["embeddings.word_embeddings.weight"], "words")
        types = self.constant(self.weights["embeddings.token_type_embeddings.weight"], "types")
        places = self.constant(self.weights["embeddings.position_embeddings.weight"], "places")
        length = self.op("Gather", self.op("Shape", "input_ids"), self.constant(np.int64(1)))
        positions = self.op("Range", self.constant(np.int64(0)), length, self.constant(np.int64(1)))
        x = self.op("Add", self.op("Gather", words, "input_ids"),
                    self.op("Gather", types, "token_type_ids"))
        return self.norm(self.op("Add", x, self.op("Gather", places, positions)),
                         "embeddings.LayerNorm")

    def mask(self):
        mask = self.op("Cast", "attention_mask", to=TensorProto.FLOAT)
        mask = self.op("Unsqueeze", mask, self.constant(np.array([1, 2], np.int64)))
        lack = self.op("Sub", self.constant(np.float32(1)), mask)
        return self.op("Mul", lack, self.constant(np.float32(-1e9)))

    def layer(self, x, mask, at):
        name = f"encoder.layer.{at}"
        query = self.heads(self.linear(x, f"{name}.attention.self.query"), False)
        key = self.heads(self.linear(x, f"{name}.attention.self.key"), True)
        value = self.heads(self.linear(x, f"{name}.attention.self.value"), False)
        size = self.config["hidden_size"] // self.config["num_attention_heads"]
        scores = self.op("Div", self.op("MatMul", query, key),
                         self.constant(np.float32(size ** 0.5)))
        share = self.op("Softmax", self.op("Add", scores, mask), axis=-1)
        context = self.op("Transpose", self.op("MatMul", share, value), perm=[0, 2, 1, 3])
        flat = np.array([0, 0, self.config["hidden_size"]], np.int64)
        context = self.op("Reshape", context, self.constant(flat))
        out = self.linear(context, f"{name}.attention.output.dense")
        x = self.norm(self.op("Add", out, x), f"{name}.attention.output.LayerNorm")
        wide = self.gelu(self.linear(x, f"{name}.intermediate.dense"))
        out = self.linear(wide, f"{name}.output.dense")
        return self.norm(self.op("Add", out, x), f"{name}.output.LayerNorm")

    def pooled(self, x):
        mask = self.op("Cast", "attention_mask", to=TensorProto.FLOAT)
        mask = self.op("Unsqueeze", mask, self.constant(np.array([2], np.int64)))
        axis = self.constant(np.array([1], np.int64))
        summed = self.op("ReduceSum", self.op("Mul", x, mask), axis, keepdims=0)
        mean = self.op("Div", summed, self.op("ReduceSum", mask, axis, keepdims=0))
        return self.op("Div", mean, self.op("ReduceL2", mean, axes=[1], keepdims=1))


def build(folder):
    config = json.loads((folder / "config.json").read_text())
    graph = Graph(read_safetensors(folder / "model.safetensors"), config)
    x, mask = graph.embeddings(), graph.mask()
    for at in range(config["num_hidden_layers"]):
        x = graph.layer(x, mask, at)
    out = graph.pooled(x)
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "l"])
              for name in ("input_ids", "attention_mask", "token_type_ids")]
    output = helper.make_tensor_value_info(out, TensorProto.FLOAT, ["b", config["hidden_size"]])
    model = helper.make_graph(graph.nodes, "bert", inputs, [output], graph.constants)
    return helper.make_model(model, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--int8", type=Path)
    args = parser.parse_args()
    onnx.save(build(args.model), args.out)
    if args.int8:
        from onnxruntime.quantization import QuantType, quantize_dynamic
        quantize_dynamic(args.out, args.int8, weight_type=QuantType.QInt8)


if __name__ == "__main__":
    main()
