"""Getting the data: what each data set consists of, where it is, and how it becomes a verified data folder.

manifest.py      what is known of each data set: page, access, files with hashes, addresses (manifests/*.toml)
fetching.py      downloads that resume, retry and are verified
lock.py          what was downloaded first, so that a later change is noticed
archives.py      unpacking what comes from outside, or refusing it
recognising.py   which of the files at hand is which file of a data set, by content
converting.py    formats that people have, turned into those that are read
preparing.py     from whatever the user has to a verified folder, or to an exact explanation
status.py        which data sets are ready, differ, cannot be read or are missing
bundles.py       data carried to a machine without internet
"""
