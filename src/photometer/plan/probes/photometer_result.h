// Writes what a C++ variant computed as JSON: the same form as photometer_result.py, for the same comparison.
#pragma once

#include <cmath>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/types.h>

namespace photometer_result {

constexpr int64_t kMostValues = 10000;

class Writer {
 public:
  explicit Writer(const std::string& path) : file_(path) {
    if (!file_) throw std::runtime_error("cannot write the result to " + path);
    // This many digits distinguish any two doubles.
    file_.precision(std::numeric_limits<double>::max_digits10);
    file_ << "{";
  }

  ~Writer() { file_ << "}\n"; }

  template <typename Value>
  void add(const std::string& name, const Value& value) {
    file_ << (first_name_ ? "" : ", ") << '"' << name << "\": [";
    first_name_ = false;
    first_leaf_ = true;
    leaf(value);
    file_ << "]";
  }

 private:
  void leaf(const at::Tensor& value) {
    if (!value.defined()) return;
    auto tensor = value.detach();
    // Only plain arrays of numbers are written, as in photometer_result.py.
    if (tensor.is_nested()) return each(tensor.unbind());
    if (tensor.is_quantized()) return leaf(tensor.dequantize());
    if (tensor.is_mkldnn()) return leaf(tensor.to_dense());
    if (tensor.layout() != at::kStrided) {
      tensor = tensor.to_sparse().coalesce();
      leaf(tensor.indices());
      return leaf(tensor.values());
    }
    std::vector<int64_t> shape = tensor.sizes().vec();
    if (tensor.is_complex()) shape.push_back(2);
    begin(shape);
    if (tensor.is_meta()) {
      file_ << "]}";
      return;
    }
    // Of a large tensor only some values, evenly spread, as in photometer_result.py.
    const int64_t step = ((tensor.numel() + kMostValues - 1) / kMostValues) | 1;
    auto part = tensor.reshape({-1}).slice(0, 0, std::numeric_limits<int64_t>::max(), step).cpu();
    if (part.is_complex()) part = at::view_as_real(part.contiguous());
    auto flat = part.to(at::kDouble).reshape({-1}).contiguous();
    for (int64_t i = 0; i < flat.numel(); i++) number(flat.data_ptr<double>()[i], i == 0);
    file_ << "]}";
  }

  void leaf(const c10::IValue& value) {
    if (value.isTensor()) return leaf(value.toTensor());
    if (value.isTuple()) return each(value.toTupleRef().elements());
    if (value.isTensorList() || value.isList()) return each(value.toListRef());
    if (value.isInt()) return leaf(value.toInt());
    if (value.isDouble()) return leaf(value.toDouble());
    if (value.isBool()) return leaf(value.toBool());
  }

  template <typename Item>
  void leaf(const std::vector<Item>& values) {
    each(values);
  }

  template <typename... Items>
  void leaf(const std::tuple<Items...>& values) {
    std::apply([this](const auto&... items) { (leaf(items), ...); }, values);
  }

  template <typename Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
  void leaf(const volatile Number& value) {
    begin({});
    number(static_cast<double>(value), true);
    file_ << "]}";
  }

  template <typename Range>
  void each(const Range& values) {
    for (const auto& item : values) leaf(item);
  }

  void begin(at::IntArrayRef shape) {
    file_ << (first_leaf_ ? "" : ", ") << "{\"shape\": [";
    first_leaf_ = false;
    for (size_t i = 0; i < shape.size(); i++) file_ << (i == 0 ? "" : ", ") << shape[i];
    file_ << "], \"values\": [";
  }

  void number(double value, bool first) {
    if (!first) file_ << ", ";
    if (std::isnan(value)) file_ << "NaN";
    else if (std::isinf(value)) file_ << (value < 0 ? "-Infinity" : "Infinity");
    else file_ << value;
  }

  std::ofstream file_;
  bool first_name_ = true;
  bool first_leaf_ = true;
};

// The gradient of an input; an input that is not a tensor has none.
inline at::Tensor gradient_of(const at::Tensor& input) { return input.is_leaf() ? input.grad() : at::Tensor(); }
template <typename Other>
at::Tensor gradient_of(const Other&) { return at::Tensor(); }

}  // namespace photometer_result
