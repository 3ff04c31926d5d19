"""The commands, one file each. `main` lists them."""
