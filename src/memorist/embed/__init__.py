"""Embedders convert text to vectors. There is a bundled default, and you can use local ONNX models, two kinds of API,
or any function.

embedder = open_embedder("default", blocking=True)
vectors = await embedder.embed(["some text"])
"""

from memorist.embed.opening import OpenEmbedder, open_embedder

__all__ = ["OpenEmbedder", "open_embedder"]
