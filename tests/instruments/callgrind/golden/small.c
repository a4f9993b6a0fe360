// The program behind the golden files: recursion, a circle of two functions, inlining, and the allocator.
// gcc -O1 -g small.c -o small
// valgrind --tool=callgrind --collect-atstart=no --callgrind-out-file=plain ./small     (plain.out is dump 2)
// combined.out: --combine-dumps=yes; uncompressed.out: --compress-strings=no --compress-pos=no (dump 2)
// simulated.out: --dump-instr=yes --collect-jumps=yes --cache-sim=yes --branch-sim=yes (dump 2)
// no_symbols.out: as plain.out, with the debug files of the C library hidden
// plain.*.txt: callgrind_annotate --threshold=100 --show-percs=no --auto=no [--inclusive=yes] plain.out, the functions only
// Folders and process numbers were replaced afterwards.
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

static __attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static __attribute__((noinline)) int even(int n);
static __attribute__((noinline)) int odd(int n) { return n == 0 ? 0 : 1 + even(n - 1); }
static __attribute__((noinline)) int even(int n) { return n == 0 ? 1 : 2 + odd(n - 1); }

#include "inlined.h"

static __attribute__((noinline)) int allocate(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    char *bytes = malloc(16 + i * 40);
    memset(bytes, i, 16);
    int *numbers = realloc(calloc(i + 1, sizeof(int)), 4000);
    sum += bytes[3] + square(numbers[0] + i);
    free(numbers);
    free(bytes);
  }
  return sum;
}

static __attribute__((noinline)) int run(void) { return allocate(20) + fib(8) + even(9); }

int main(void) {
  int result = run();
  for (int repeat = 0; repeat < 2; repeat++) {
    CALLGRIND_TOGGLE_COLLECT;
    result += run();
    CALLGRIND_TOGGLE_COLLECT;
    CALLGRIND_DUMP_STATS;
    CALLGRIND_ZERO_STATS;
  }
  return result == 42;
}
