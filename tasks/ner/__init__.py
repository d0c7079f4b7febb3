"""Named entities: tagging tasks that show what word vectors are worth to a tagger."""
