"""SentEval's own tasks, read from SentEval's own folders, so that one encoder gets both halves from one engine."""
