"""Whether a plugin keeps its contract: requirements by id, one check per axis, canaries that break each, reports.

Works on any executable in any language; knows nothing about how a plugin is written.
"""
