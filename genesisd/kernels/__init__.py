"""GPU kernels for the engine. They know nothing of the daemon: they run in a pin's environment, which has torch and triton."""
