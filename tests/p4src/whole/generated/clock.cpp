// simple_switch_grpc's clock, told by a test: preloaded, this takes the place of libstdc++'s system clock. The file named
// in CANOPY_CLOCK holds the time in microseconds. It counts from a year that is far away: what waits until then, such as
// periodic tasks, sleeps.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>

static const volatile std::int64_t *told() {
    const char *path = std::getenv("CANOPY_CLOCK");
    int file = path == nullptr ? -1 : open(path, O_RDONLY);
    void *at = file < 0 ? MAP_FAILED : mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
    return at == MAP_FAILED ? nullptr : static_cast<const volatile std::int64_t *>(at);
}

namespace std::chrono::_V2 {
system_clock::time_point system_clock::now() noexcept {
    static const volatile std::int64_t *const at = told();
    return time_point(std::chrono::hours(24 * 365 * 200)) + std::chrono::microseconds(at == nullptr ? 0 : *at);
}
}
