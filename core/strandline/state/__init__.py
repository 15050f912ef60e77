"""Where things are: directories, keys, file classes, and the one module that touches files."""
