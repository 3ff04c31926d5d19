"""GitHub Actions workflows from the schema that a `hook` host sends."""
