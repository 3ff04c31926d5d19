"""The pipeline file: what a project wants built, from YAML to the schema that providers are given."""

from .pipeline_file import Pipeline, parse, read

__all__ = ["Pipeline", "parse", "read"]
