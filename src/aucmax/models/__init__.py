"""Fitted models and checkpoints as files: safetensors and ONNX."""
