"""Item models over plain rows; each keeps its own order and never hands large integers to Qt."""
