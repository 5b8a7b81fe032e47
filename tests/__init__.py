"""The specification, one folder a package folder."""
