"""The sample nets and the script that writes them: `python -m sample_nets.build`."""
