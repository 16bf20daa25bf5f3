// Matrix products by cuBLASLt: its heuristics are asked once for each different product, and their first answer is
// kept.
#include <cublasLt.h>
#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>

#include "calibration/cuda/handles.hpp"
#include "calibration/device/product_shape.hpp"
#include "calibration/device/products.hpp"

namespace accocal {
namespace {

[[noreturn]] void fail(cublasStatus_t status, const char* call, const std::string& what) {
  throw DeviceError(fmt::format("{}: {} ({}), for the product {}", call, cublasLtGetStatusName(status),
                                cublasLtGetStatusString(status), what));
}

void check(cublasStatus_t status, const char* call, const std::string& what) {
  if (status != CUBLAS_STATUS_SUCCESS) fail(status, call, what);
}

// What each type is to cuBLASLt.
struct Types {
  cudaDataType_t operand, result;
  cublasComputeType_t compute;
};

Types types_of(ProductType type) {
  switch (type) {
    case ProductType::kFp32: return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case ProductType::kTf32: return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case ProductType::kFp16: return {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F};
    case ProductType::kBf16: return {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F};
    case ProductType::kFp8: break;
  }
  return {CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F};
}

std::int64_t bytes_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_32F: return 4;
    case CUDA_R_8F_E4M3: return 1;
    default: return 2;
  }
}

/// Of a matrix and of each of its batch, up to the 256 that cudaMalloc gives.
std::uint32_t alignment_of(const void* data, std::int64_t batch_bytes) {
  const std::uintptr_t bits =
      reinterpret_cast<std::uintptr_t>(data) | static_cast<std::uintptr_t>(batch_bytes) | std::uintptr_t{256};
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}

// What the choice of a kernel depends on besides the product itself. The defaults are those of a question about a
// product that nobody has multiplied.
struct Operands {
  std::uint32_t align_a = 256, align_b = 256, align_c = 256, align_d = 256;
  std::uint32_t align_bias = 0;  // 0: no bias

  auto operator<=>(const Operands&) const = default;
};

/// What tells products apart that want kernels of their own: nothing left out, nor alpha, nor what beta is beside 0.
Product key_of(const Product& p, const ProductShape& s) {
  Product key = p;
  key.lda = s.a.leading;
  key.ldb = s.b.leading;
  key.ldc = s.c.leading;
  key.stride_a = s.a.stride;
  key.stride_b = s.b.stride;
  key.stride_c = s.c.stride;
  key.alpha = 1;
  key.beta = p.beta != 0 ? 1 : 0;
  return key;
}

// One of cuBLASLt's descriptions, destroyed with its owner; `kSet` sets an attribute of it, as a call of that name.
template <auto kSet, auto kDestroy, typename Handle>
class Description {
 public:
  explicit Description(const char* call_that_sets) : call_that_sets_(call_that_sets) {}
  ~Description() {
    if (handle_ != nullptr) kDestroy(handle_);
  }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  Handle get() const { return handle_; }

  template <typename Attribute, typename Value>
  void set(Attribute attribute, Value value, const std::string& what) {
    check(kSet(handle_, attribute, &value, sizeof(value)), call_that_sets_, what);
  }

 protected:
  Handle handle_ = nullptr;

 private:
  const char* call_that_sets_;
};

struct Layout : Description<cublasLtMatrixLayoutSetAttribute, cublasLtMatrixLayoutDestroy, cublasLtMatrixLayout_t> {
  Layout(const StoredMatrix& matrix, cudaDataType_t type, int batch, const std::string& what)
      : Description("cublasLtMatrixLayoutSetAttribute") {
    check(cublasLtMatrixLayoutCreate(&handle_, type, static_cast<std::uint64_t>(matrix.rows),
                                     static_cast<std::uint64_t>(matrix.columns), matrix.leading),
          "cublasLtMatrixLayoutCreate", what);
    if (batch == 1) return;
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{batch}, what);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.stride, what);
  }
};

struct Operation : Description<cublasLtMatmulDescSetAttribute, cublasLtMatmulDescDestroy, cublasLtMatmulDesc_t> {
  Operation(cublasComputeType_t compute, const std::string& what) : Description("cublasLtMatmulDescSetAttribute") {
    check(cublasLtMatmulDescCreate(&handle_, compute, CUDA_R_32F), "cublasLtMatmulDescCreate", what);
  }
};

struct Preference
    : Description<cublasLtMatmulPreferenceSetAttribute, cublasLtMatmulPreferenceDestroy, cublasLtMatmulPreference_t> {
  explicit Preference(const std::string& what) : Description("cublasLtMatmulPreferenceSetAttribute") {
    check(cublasLtMatmulPreferenceCreate(&handle_), "cublasLtMatmulPreferenceCreate", what);
  }
};

// A product with its kernel.
struct Plan {
  Operation operation;
  Layout a, b, c;
  cublasLtMatmulHeuristicResult_t chosen = {};
  cublasStatus_t refused = CUBLAS_STATUS_SUCCESS;  // why there is no kernel

  Plan(const Product& p, const ProductShape& s, const Types& types, const std::string& what)
      : operation(types.compute, what),
        a(s.a, types.operand, p.batch, what),
        b(s.b, types.operand, p.batch, what),
        c(s.c, types.result, p.batch, what) {}
};

template <typename Value>
std::string value_of(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  Value value = 0;
  std::size_t written = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof(value), &written);
  // A label for people: not worth a measurement when a library to come does not know it.
  return status == CUBLAS_STATUS_SUCCESS ? fmt::format("{}", value) : "?";
}

}  // namespace

struct Products::State {
  cublasLtHandle_t handle = nullptr;
  DeviceMemory workspace;
  DeviceMemory one;  // fp8's scale
  struct Plans {
    std::map<Operands, Plan> of;
    const Plan* last = nullptr;  // what was multiplied last
  };
  std::map<Product, Plans> plans;

  explicit State(std::size_t bytes) : workspace(bytes), one(256) {
    const float scale = 1;
    Stream stream;
    stream.copy_to_device(one.data(), &scale, sizeof(scale));
    stream.synchronise();
    check(cublasLtCreate(&handle), "cublasLtCreate", "to come");
  }
  ~State() { cublasLtDestroy(handle); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Plan& plan(Plans& same, const Product& p, const ProductShape& s, const Operands& operands, const void* bias) const {
    if (const auto known = same.of.find(operands); known != same.of.end()) return known->second;
    const std::string what = describe(p);
    Plan& made = same.of.try_emplace(operands, p, s, types_of(p.type), what).first->second;
    try {
      describe_operation(made.operation, p, operands, bias, what);
      choose(made, operands, what);
    } catch (...) {
      same.of.erase(operands);
      throw;
    }
    return made;
  }

  void describe_operation(Operation& operation, const Product& p, const Operands& operands, const void* bias,
                          const std::string& what) const {
    operation.set(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<std::int32_t>(p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N),
                  what);
    operation.set(CUBLASLT_MATMUL_DESC_TRANSB, static_cast<std::int32_t>(p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N),
                  what);
    if (operands.align_bias != 0) {
      operation.set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(CUBLASLT_EPILOGUE_BIAS), what);
      operation.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias, what);  // of which the heuristics see the alignment
    }
    if (p.type == ProductType::kFp8) {
      const void* scale = one.data();
      operation.set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale, what);
      operation.set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale, what);
    }
  }

  void choose(Plan& plan, const Operands& operands, const std::string& what) const {
    Preference preference(what);
    preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace.size()}, what);
    // Parts of a sum that is split are added in fp32, never in the result's 16 bits.
    preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                   static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE), what);
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, operands.align_a, what);
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, operands.align_b, what);
    // cuBLASLt's C is our D, and the other way round.
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, operands.align_d, what);
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, operands.align_c, what);
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle, plan.operation.get(), plan.a.get(), plan.b.get(), plan.c.get(),
                                       plan.c.get(), preference.get(), 1, &plan.chosen, &found);
    switch (status) {
      case CUBLAS_STATUS_SUCCESS: plan.refused = found > 0 ? plan.chosen.state : CUBLAS_STATUS_NOT_SUPPORTED; break;
      // In these words cuBLASLt says that a device has no such product.
      case CUBLAS_STATUS_NOT_SUPPORTED:
      case CUBLAS_STATUS_INVALID_VALUE:
      case CUBLAS_STATUS_ARCH_MISMATCH: plan.refused = status; break;
      default: fail(status, "cublasLtMatmulAlgoGetHeuristic", what);
    }
  }

  const Plan& asked(const Product& p) {
    const ProductShape s = shape_of(p);
    Plans& same = plans[key_of(p, s)];
    return same.last != nullptr ? *same.last : plan(same, p, s, Operands{}, nullptr);
  }
};

Products::Products(std::size_t workspace) : state_(make_hidden<State>(workspace)) {}

void Products::multiply(const Product& product, void* c, const void* a, const void* b, const void* bias, const void* d,
                        Stream& stream) {
  Product p = product;
  if (d == nullptr) p.beta = 0;
  const ProductShape s = shape_of(p);
  const Types types = types_of(p.type);
  // Where nothing is read, any pointer will do, but it must be one.
  const void* added = p.beta == 0 ? c : d;
  const auto of_batch = [&](const StoredMatrix& matrix, cudaDataType_t type) {
    return p.batch == 1 ? 0 : matrix.stride * bytes_of(type);
  };
  Operands operands;
  operands.align_a = alignment_of(a, of_batch(s.a, types.operand));
  operands.align_b = alignment_of(b, of_batch(s.b, types.operand));
  operands.align_c = alignment_of(c, of_batch(s.c, types.result));
  operands.align_d = alignment_of(added, of_batch(s.c, types.result));
  if (bias != nullptr) {
    operands.align_bias = alignment_of(bias, 0);
    // It is read as wide as the result is written, which not all versions conclude from its pointer.
    operands.align_c = std::min(operands.align_c, operands.align_bias);
  }

  State::Plans& same = state_->plans[key_of(p, s)];
  Plan& plan = state_->plan(same, p, s, operands, bias);
  if (plan.refused != CUBLAS_STATUS_SUCCESS)
    throw DeviceError(fmt::format("this device and cuBLASLt have no kernel ({}) for the product {}{}",
                                  cublasLtGetStatusName(plan.refused), describe(p), bias ? " with bias" : ""));
  same.last = &plan;
  if (bias != nullptr) plan.operation.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias, "with bias");
  const cublasStatus_t status = cublasLtMatmul(
      state_->handle, plan.operation.get(), &p.alpha, a, plan.a.get(), b, plan.b.get(), &p.beta, added, plan.c.get(), c,
      plan.c.get(), &plan.chosen.algo, state_->workspace.data(), state_->workspace.size(), stream.handle().stream);
  if (status != CUBLAS_STATUS_SUCCESS) fail(status, "cublasLtMatmul", describe(p));
}

bool Products::supported(const Product& product) { return state_->asked(product).refused == CUBLAS_STATUS_SUCCESS; }

ProductChoice Products::choice(const Product& product) {
  const Plan& plan = state_->asked(product);
  if (plan.refused != CUBLAS_STATUS_SUCCESS)
    throw DeviceError("this device and cuBLASLt have no kernel for the product " + describe(product));
  const cublasLtMatmulAlgo_t& algorithm = plan.chosen.algo;
  return {fmt::format("algorithm {}, tile {}, stages {}, split {}",
                      value_of<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_ID),
                      value_of<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID),
                      value_of<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID),
                      value_of<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM)),
          static_cast<double>(plan.chosen.wavesCount)};
}

std::int64_t Products::memory() const {
  return static_cast<std::int64_t>(state_->workspace.size() + state_->one.size());
}

}  // namespace accocal
