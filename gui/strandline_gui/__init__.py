"""The window: a front end over the gateway of ``strandline``, made with Qt."""
