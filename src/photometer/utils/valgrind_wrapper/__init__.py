"""The path of torch.utils.benchmark.utils.valgrind_wrapper: only names."""
