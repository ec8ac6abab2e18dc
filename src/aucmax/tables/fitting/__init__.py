"""The fit of a table model: the evidence, the ladder with its pairs and shapes, and the merge of lines for cards."""
