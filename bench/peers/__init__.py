"""Drivers of the peers, and the children they start. They never import plughost."""
