// calibration/device/device.hpp by the CUDA runtime.
#include <cublasLt.h>
#include <fmt/format.h>

#include "calibration/cuda/handles.hpp"
#include "calibration/cuda/nvml.hpp"
#if defined(ACCOSIM_NCCL)
#include <nccl.h>
#endif

namespace accocal {
namespace {

constexpr double kKilohertz = 1e3;

/// "13.0" of 13000 or 13010, as the runtime and the driver count.
std::string version_of(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }
/// "2.28.9" of 22809, as the libraries do.
std::string library_version(std::size_t number) {
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

int attribute(int device, cudaDeviceAttr which) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

// A refused call leaves its error behind for the next one that looks.
bool succeeded(cudaError_t status) {
  if (status == cudaSuccess) return true;
  cudaGetLastError();
  return false;
}

void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (bytes > 0) check_cuda(cudaMemcpyAsync(to, from, bytes, kind, stream), "cudaMemcpyAsync");
}

}  // namespace

struct Event::Handle {
  cudaEvent_t event = nullptr;
  ~Handle() {
    if (event != nullptr) succeeded(cudaEventDestroy(event));
  }
};

Stream::Handle::~Handle() {
  if (stream != nullptr) succeeded(cudaStreamDestroy(stream));
}

struct Graph::Handle {
  cudaStream_t recording = nullptr;
  cudaGraphExec_t graph = nullptr;
  ~Handle() {
    cudaGraph_t recorded = nullptr;  // of a body that threw
    if (recording != nullptr && succeeded(cudaStreamEndCapture(recording, &recorded)) && recorded != nullptr)
      succeeded(cudaGraphDestroy(recorded));
    if (graph != nullptr) succeeded(cudaGraphExecDestroy(graph));
  }
};

void check_cuda(cudaError_t status, const std::string& call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw DeviceError(fmt::format("{}: {}: {}", call, cudaGetErrorName(status), cudaGetErrorString(status)));
}

std::string bus_of(int device) {
  char text[32] = {};
  check_cuda(cudaDeviceGetPCIBusId(text, sizeof text, device), "cudaDeviceGetPCIBusId");
  return text;
}

int device_count() noexcept {
  int count = 0;
  return succeeded(cudaGetDeviceCount(&count)) ? count : 0;
}

std::string why_no_device() {
  int count = 0, driver = 0, runtime = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (succeeded(status) && count > 0) return "";
  if (succeeded(status) || status == cudaErrorNoDevice) return "no CUDA device: the driver sees none";
  if (status == cudaErrorInsufficientDriver && succeeded(cudaDriverGetVersion(&driver)) &&
      succeeded(cudaRuntimeGetVersion(&runtime))) {
    if (driver == 0) return "no CUDA device: there is no NVIDIA driver on this machine";
    return fmt::format("no CUDA device: the driver knows CUDA up to {}, and this accocal was built with {}",
                       version_of(driver), version_of(runtime));
  }
  return fmt::format("no CUDA device: {}", cudaGetErrorString(status));
}

DeviceInfo device_info(int device) {
  DeviceInfo info;
  cudaDeviceProp properties;
  check_cuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  info.name = properties.name;
  info.major = properties.major;
  info.minor = properties.minor;
  info.sm_count = properties.multiProcessorCount;
  info.memory = static_cast<std::int64_t>(properties.totalGlobalMem);
  info.l2 = properties.l2CacheSize;
  // The clocks have left cudaDeviceProp in CUDA 13.
  info.sm_clock = kKilohertz * attribute(device, cudaDevAttrClockRate);
  info.memory_clock = kKilohertz * attribute(device, cudaDevAttrMemoryClockRate);
  // Two transfers a clock, 8 bits a byte.
  info.memory_bandwidth = 2 * info.memory_clock * attribute(device, cudaDevAttrGlobalMemoryBusWidth) / 8;
  info.power_limit = nvml_power_limit(bus_of(device));
  int version = 0;
  check_cuda(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
  info.driver = version_of(version);
  check_cuda(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
  info.runtime = version_of(version);
  info.products = library_version(cublasLtGetVersion());
#if defined(ACCOSIM_NCCL)
  if (ncclGetVersion(&version) == ncclSuccess) info.network = library_version(static_cast<std::size_t>(version));
#endif
  return info;
}

DeviceState device_state(int device) { return nvml_state(bus_of(device)); }

void use_device(int device) { check_cuda(cudaSetDevice(device), "cudaSetDevice"); }

std::int64_t device_memory_used() {
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return static_cast<std::int64_t>(total - free);
}

void synchronise_device() { check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

void* allocate_on_device(std::size_t bytes) {
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, bytes);
  if (status == cudaErrorMemoryAllocation) {
    std::size_t free = 0, total = 0;
    succeeded(status);
    check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    throw DeviceError(fmt::format("no {} bytes on the device: {} of {} are free (cudaMalloc)", bytes, free, total));
  }
  check_cuda(status, "cudaMalloc");
  return data;
}

void release_on_device(void* data, std::size_t) noexcept { succeeded(cudaFree(data)); }

void* allocate_pinned(std::size_t bytes) {
  void* data = nullptr;
  check_cuda(cudaHostAlloc(&data, bytes, cudaHostAllocPortable), "cudaHostAlloc");
  return data;
}

void release_pinned(void* data, std::size_t) noexcept { succeeded(cudaFreeHost(data)); }

Event::Event(bool timed) : handle_(make_hidden<Handle>()) {
  check_cuda(cudaEventCreateWithFlags(&handle_->event, timed ? cudaEventDefault : cudaEventDisableTiming),
             "cudaEventCreateWithFlags");
}

bool Event::done() const {
  const cudaError_t status = cudaEventQuery(handle_->event);
  if (status == cudaErrorNotReady) return succeeded(status);
  check_cuda(status, "cudaEventQuery");
  return true;
}

void Event::synchronise() const { check_cuda(cudaEventSynchronize(handle_->event), "cudaEventSynchronize"); }

Seconds elapsed(const Event& from, const Event& to) {
  float ms = 0;
  check_cuda(cudaEventElapsedTime(&ms, from.handle().event, to.handle().event), "cudaEventElapsedTime");
  return {1e-3 * static_cast<double>(ms)};
}

Stream::Stream(Priority priority) : handle_(make_hidden<Handle>()) {
  int low = 0, high = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&low, &high), "cudaDeviceGetStreamPriorityRange");
  check_cuda(
      cudaStreamCreateWithPriority(&handle_->stream, cudaStreamNonBlocking, priority == Priority::kHigh ? high : low),
      "cudaStreamCreateWithPriority");
}

void Stream::record(const Event& event) {
  check_cuda(cudaEventRecord(event.handle().event, handle_->stream), "cudaEventRecord");
}

void Stream::wait(const Event& event) {
  check_cuda(cudaStreamWaitEvent(handle_->stream, event.handle().event, 0), "cudaStreamWaitEvent");
}

void Stream::synchronise() { check_cuda(cudaStreamSynchronize(handle_->stream), "cudaStreamSynchronize"); }

void Stream::copy_to_device(void* device, const void* host, std::size_t bytes) {
  copy(device, host, bytes, cudaMemcpyHostToDevice, handle_->stream);
}
void Stream::copy_to_host(void* host, const void* device, std::size_t bytes) {
  copy(host, device, bytes, cudaMemcpyDeviceToHost, handle_->stream);
}
void Stream::copy_on_device(void* to, const void* from, std::size_t bytes) {
  copy(to, from, bytes, cudaMemcpyDeviceToDevice, handle_->stream);
}
void Stream::set_zero(void* device, std::size_t bytes) {
  if (bytes > 0) check_cuda(cudaMemsetAsync(device, 0, bytes, handle_->stream), "cudaMemsetAsync");
}

Graph::Graph() : handle_(make_hidden<Handle>()) {}

void Graph::begin(Stream& stream) {
  check_cuda(cudaStreamBeginCapture(stream.handle().stream, cudaStreamCaptureModeThreadLocal),
             "cudaStreamBeginCapture");
  handle_->recording = stream.handle().stream;
}

void Graph::end(Stream& stream) {
  handle_->recording = nullptr;
  cudaGraph_t recorded = nullptr;
  check_cuda(cudaStreamEndCapture(stream.handle().stream, &recorded), "cudaStreamEndCapture");
  const cudaError_t status = cudaGraphInstantiate(&handle_->graph, recorded, 0);
  succeeded(cudaGraphDestroy(recorded));
  check_cuda(status, "cudaGraphInstantiate");
}

void Graph::launch(Stream& stream) {
  check_cuda(cudaGraphLaunch(handle_->graph, stream.handle().stream), "cudaGraphLaunch");
}

}  // namespace accocal
