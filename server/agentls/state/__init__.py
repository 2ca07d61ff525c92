"""The store, the reducer and derived views; no I/O."""
