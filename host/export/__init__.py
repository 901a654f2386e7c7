"""Trained policies in other forms: ONNX, C, torch. Each writer translates the layers of
``host.algorithms.layers``; none knows an algorithm.
"""
