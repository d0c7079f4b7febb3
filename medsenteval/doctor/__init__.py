"""``medsenteval doctor``: does the installation, the data folder or an encoder have something wrong with it, and what helps?"""
