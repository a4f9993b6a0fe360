// Included by every compiled snippet. source.py writes the snippets; worker/native_loop.py calls what is exported.
//
// A snippet is a coroutine: its body runs the set-up, then waits for blocks; a block is `runs` runs of the statement.
// So the set-up's variables stay alive between blocks while Python decides what comes next, on one stack and one thread
// (a profiler and Callgrind see ordinary calls), and many short blocks cost one set-up.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <exception>
#include <string>
#include <type_traits>
#include <typeinfo>

#include <c10/util/Exception.h>

#define PHOTOMETER_EXPORT extern "C" __attribute__((visibility("default")))
#define PHOTOMETER_INLINE inline __attribute__((always_inline))

namespace photometer {

// The value must exist, in a register or in memory, and memory may have been read and changed.
template <class T>
PHOTOMETER_INLINE void keep(const T& value) {
  if constexpr (std::is_scalar_v<T>) {
    asm volatile("" : : "r,m"(value) : "memory");
  } else {
    asm volatile("" : : "r"(&value) : "memory");
  }
}

// `sink, expression` keeps the expression's value; if the expression is void it is the built-in comma.
struct Sink {
  template <class T>
  PHOTOMETER_INLINE friend T&& operator,(const Sink&, T&& value) {
    keep(value);
    return static_cast<T&&>(value);
  }
};
inline constexpr Sink sink{};

// Memory may have changed: the set-up's variables, which are in the coroutine's frame, are read again in every run.
PHOTOMETER_INLINE void barrier() {
  asm volatile("" : : : "memory");
}

// "type\nmessage" of the exception being handled. Call it in a catch block only.
__attribute__((noinline, cold)) inline std::string describe_exception() {
  std::string text = "unknown";
  if (const std::type_info* type = abi::__cxa_current_exception_type()) {
    int status = 0;
    char* readable = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
    text = readable != nullptr ? readable : type->name();
    std::free(readable);
  }
  text += '\n';
  try {
    throw;
  } catch (const c10::Error& caught) {
    text += caught.what_without_backtrace();
  } catch (const std::exception& caught) {
    text += caught.what();
  } catch (const std::string& caught) {
    text += caught;
  } catch (const char* caught) {
    text += caught;
  } catch (...) {
    text += "an exception that is not a std::exception";
  }
  return text;
}

struct Blocks {
  struct promise_type {
    int64_t runs = 0;
    std::string error;

    Blocks get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() noexcept {
      return {};
    }
    std::suspend_always final_suspend() noexcept {
      return {};
    }
    void return_void() noexcept {}
    void unhandled_exception() {
      error = describe_exception();
    }
  };

  std::coroutine_handle<promise_type> handle;
};

// `co_await NextBlock{}` suspends until a block is requested and returns its number of runs.
struct NextBlock {
  Blocks::promise_type* promise = nullptr;

  bool await_ready() noexcept {
    return false;
  }
  void await_suspend(std::coroutine_handle<Blocks::promise_type> handle) noexcept {
    promise = &handle.promise();
  }
  int64_t await_resume() noexcept {
    return promise->runs;
  }
};

inline void write_error(const std::string& text, char* error, size_t error_size) {
  if (error_size > 0) {
    std::strncpy(error, text.c_str(), error_size - 1);
    error[error_size - 1] = '\0';
  }
}

// Runs the set-up. Returns null, and the error's text, if it threw.
inline void* open_blocks(Blocks (*snippet)(), char* error, size_t error_size) {
  try {
    auto handle = snippet().handle;
    if (!handle.done()) {
      return handle.address();
    }
    write_error(handle.promise().error, error, error_size);
    handle.destroy();
  } catch (...) {
    write_error(describe_exception(), error, error_size);
  }
  return nullptr;
}

}  // namespace photometer

// One block. The hooks are native functions called directly before each of the two clock reads, or null: a device's
// synchronisation, or Callgrind's toggles. Returns nonzero, and the error's text, if the statement threw.
PHOTOMETER_EXPORT int photometer_run_block(
    void* blocks, int64_t runs, void (*before)(), void (*after)(), double* seconds, char* error, size_t error_size) {
  auto handle = std::coroutine_handle<photometer::Blocks::promise_type>::from_address(blocks);
  handle.promise().runs = runs;
  if (before != nullptr) {
    before();
  }
  const auto start = std::chrono::steady_clock::now();
  handle.resume();
  if (after != nullptr) {
    after();
  }
  const auto end = std::chrono::steady_clock::now();
  *seconds = std::chrono::duration<double>(end - start).count();
  if (handle.done()) {
    photometer::write_error(handle.promise().error, error, error_size);
    return 1;
  }
  return 0;
}

// Destroys the set-up's variables.
PHOTOMETER_EXPORT void photometer_close_blocks(void* blocks) {
  std::coroutine_handle<photometer::Blocks::promise_type>::from_address(blocks).destroy();
}
