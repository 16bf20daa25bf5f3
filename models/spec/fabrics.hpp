// Constants of kinds of links: what a cluster's file need not say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/spec/cluster.hpp"
#include "models/spec/constants.hpp"

namespace accosim {

/// The kinds inside a node that constants() has, in its order: nvswitch, nvlink (GPUs joined to each other), cube_mesh
/// (of 8 V100), pcie (GPUs reach each other's memory) and pcie_host (they do not: the host copies).
const std::vector<std::string>& intra_kinds();
bool is_over_pcie(const std::string& intra_kind);
/// The hybrid cube mesh of DGX-1 with V100 and of cloud machines like it (NVIDIA DGX-1 With Tesla V100 System
/// Architecture, WP-08437-002, figure 5): NVLinks between each two of 8 GPUs; every GPU has 6.
const std::vector<std::vector<int>>& cube_mesh();

/// infiniband and roce (RDMA with GPUDirect), infiniband_host (without: the host copies), omnipath, slingshot, efa
/// (its first generation, without GPUDirect), efa_rdma (the later ones), tcpx, tcp; and sockets, accocal's own rings,
/// whose messages are framed for Ethernet and which know neither trees nor LL.
const std::vector<std::string>& nic_kinds();

/// How what GPUs send comes to the adapters: these read the GPUs' memory; they read the host's, to which GPUs write
/// (one budget of a node); or software copies it, the kernel's sockets or a provider that puts packets in order, in
/// each of NCCL's threads what that sends and what it receives.
enum class DataPath : std::uint8_t { kDirect, kStaged, kCopied };
DataPath data_path(const std::string& nic_kind);

/// accocal's own rings, a kind of nic_kinds().
inline constexpr const char* kOwnRings = "sockets";
/// Kinds whose bytes go over the kernel's TCP, which bounds what a connection has under way: tcp, tcpx and kOwnRings.
bool is_over_tcp(const std::string& nic_kind);
/// Kinds whose adapters usually stand behind the PCIe switch of their GPUs, which LL128 needs.
bool is_beside_gpus(const std::string& nic_kind);
/// AWS's, with its plugin for NCCL.
bool is_aws(const std::string& nic_kind);
/// Whether NCCL is told to use Simple alone over such adapters: AWS's plugin does where bytes may overtake each other,
/// on GPUs before Hopper from NCCL 2.10 on (aws-ofi-nccl issues 76, 982), and so do Google's settings for tcpx
/// (NCCL_PROTO=Simple).
bool has_simple_alone(const std::string& nic_kind, int capability, int nccl_minor);
/// Kinds whose network's switches may reduce (SHARP).
bool may_reduce(const std::string& nic_kind);
/// Kinds whose switches hash each flow to one of the ways to its node.
bool is_hashed(const std::string& nic_kind);
/// Of one of its switches. NVIDIA Quantum: 130 ns; Omni-Path: 110 ns; HPE Slingshot: 350 ns; Ethernet: 500 ns.
Seconds switch_latency(const std::string& nic_kind);
/// Kinds whose every message passes through software: the kernel's TCP, or a provider that keeps the order of packets.
bool is_by_software(const std::string& nic_kind);
/// What Linux lets a connection receive unless it is told otherwise (net.ipv4.tcp_rmem, third value: 6 MiB). Kernels
/// before 6.6 count half of it as overhead.
inline constexpr Bytes kSocketWindow{6 * 0x1p20};

/// The constants of one of intra_kinds() (constants.hpp) for GPUs of an architecture; its bandwidth is the caller's.
/// Where nobody measured the kind with that architecture they are those of the nearest in time, with the spread of
/// links that nobody measured.
IntraLink usual_intra(const std::string& kind, const std::string& architecture);
/// The constants of one of nic_kinds(), likewise.
Nics usual_nics(const std::string& kind);

}  // namespace accosim
