"""Fitted models as files: safetensors and ONNX."""
