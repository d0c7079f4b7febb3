"""``python -m medsenteval``: the command line where its script is not on the path."""

from medsenteval.cli.main import main

if __name__ == "__main__":
    main(prog_name="python -m medsenteval")
