"""`python -m teamvars` is the `teamvars` command."""

from teamvars.cli import main

if __name__ == "__main__":
    main()
