"""Files into verified data folders: what each data set consists of, where it is, and how it is checked."""
