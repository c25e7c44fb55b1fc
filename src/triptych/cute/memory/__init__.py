"""Memory: pointers, how elements lie behind them, and the loads and stores of a kernel."""
