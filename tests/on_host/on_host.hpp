// The device that is played on the host, as tests see it: how its streams interleave, how large it is, what it was
// given. Of a real device (the tests built as NAME_gpu) only the first part can be asked.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "calibration/device/device.hpp"

namespace accocal {

/// False on a real device.
bool device_is_played();
/// Other seeds take the work of unordered streams in other orders. On a real device it changes nothing.
void set_interleaving(std::uint64_t seed);

/// Of what is given to streams from now on: one line a kernel ("norm_forward 768 x 1024"), product ("product 768 x 1024
/// x 3072 (1) NN + bias"), copy or set ("set_zero 4096", in bytes). Empty on a real device.
void start_launch_log();
std::vector<std::string> end_launch_log();

// Of the played device only.

void set_device_count(int count);
/// Beyond them memory runs out; 1 GiB unless told.
void set_device_memory(std::int64_t bytes);
/// By how much each thing that a stream does moves the clock; 1 us unless told.
void set_item_time(Seconds time);

/// A piece of a stream's work.
struct Item {
  std::string name;  ///< for messages
  /// Run by whatever thread asks or waits for the device, one item at a time; in a graph more than once.
  std::function<void()> work;
  /// May it begin, now that what stands before it in the stream has ended? Empty: yes. Asked often.
  std::function<bool()> ready = {};
};
void give(Stream& stream, Item item);
/// A line of the launch log.
void log_launch(const std::string& line);
/// By the interleaving; inside an item's work only.
std::uint64_t draw();

}  // namespace accocal
