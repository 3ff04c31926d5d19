"""What a host serves to `duplex` plugins: snapshots, files beneath granted roots, and the network."""
