// What tests ask of the played device, where the device is a real one.
#include "tests/on_host/on_host.hpp"

namespace accocal {

bool device_is_played() { return false; }
void set_interleaving(std::uint64_t) {}
void start_launch_log() {}
std::vector<std::string> end_launch_log() { return {}; }
// Called by tests that have skipped themselves before.
void set_device_memory(std::int64_t) {}
void set_item_time(Seconds) {}

}  // namespace accocal
