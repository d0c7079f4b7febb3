"""Files into verified data folders: what each data set consists of, where it is, and how it is checked.

locate.py           the data folder, a task's own folder in it, and its files read into a Dataset
manifest.py         what is known of each data set: page, access, files with hashes, addresses (manifests/*.toml)
acquisition.py      a whole data set fetched: downloaded, remembered, prepared
download.py         downloads that resume, retry and are verified
archives.py         unpacking what comes from outside, or refusing it
recognise.py        which of the files at hand is which file of a data set, by content
convert.py          formats that people have, turned into those that are read
prepare.py          from whatever the user has to a verified folder, or to an exact explanation
status.py           which data sets are ready, differ, cannot be read or are missing
bundle.py           data carried to a machine without internet
description.py      a data set in words and numbers
quality.py          duplicates, leaks, contradictions; near_duplicates.py finds the first two
"""
