static inline __attribute__((always_inline)) int square(int x) {
  int sum = 0;
  for (int i = 0; i < 3; i++)
    sum += x * x + (x & i);
  return sum;
}
