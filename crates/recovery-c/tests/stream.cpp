// A stream of bytes from C++: one segment is lost, reported by ranges, and retransmitted.

#include "recoup_recovery.h"

#include <cstdio>
#include <memory>
#include <vector>

namespace {

struct Free {
    void operator()(recoup_sender *sender) const { recoup_sender_free(sender); }
};

int failures = 0;

void expect(bool holds, const char *what) {
    if (!holds) {
        std::fprintf(stderr, "does not hold: %s\n", what);
        failures++;
    }
}

constexpr uint64_t millisecond = 1000000;

} // namespace

int main() {
    recoup_settings settings{};
    settings.profile = "linux-6+reno";
    settings.segment_size = 1000;
    settings.window = 1 << 20;
    settings.first_rtt_ns = RECOUP_NONE;
    settings.numbering = RECOUP_NUMBERING_BYTES;
    recoup_sender *made = nullptr;
    expect(recoup_sender_new(&settings, &made) == 0, "a sender is made");
    std::unique_ptr<recoup_sender, Free> sender(made);

    expect(recoup_written(sender.get(), 0, 8000) == 0, "data is written");
    std::vector<recoup_transmission> sent;
    recoup_transmission what{};
    while (recoup_next_send(sender.get(), 0, &what) == 1) {
        expect(recoup_on_sent(sender.get(), 0, &what, 1000, sent.size()) == 0, "it is sent");
        sent.push_back(what);
    }
    expect(sent.size() == 8, "the initial window takes eight segments");
    expect(sent[3].start == 3000 && sent[3].end == 4000, "positions count from 0");

    // The third segment is lost, and all others arrive.
    std::vector<recoup_range> ranges{{3000, 8000}};
    recoup_ack ack{};
    ack.cumulative = 2000;
    ack.window = 1 << 20;
    ack.ranges = ranges.data();
    ack.range_count = ranges.size();
    ack.timestamp_rtt_ns = RECOUP_NONE;
    ack.echo_sent_before_ns = RECOUP_NONE;
    recoup_acked acked{};
    expect(recoup_on_ack(sender.get(), 50 * millisecond, &ack, &acked) == 0, "the ACK is taken");
    expect(acked.newly_acked == 2 && acked.newly_sacked == 5, "two segments are acknowledged, five by a range");
    expect(ranges[0].start == 3000 && ranges[0].end == 8000, "the ranges are as before");

    expect(recoup_next_send(sender.get(), 50 * millisecond, &what) == 1, "something is to be sent");
    expect(what.kind == RECOUP_KIND_AGAIN && what.trigger == RECOUP_TRIGGER_FAST, "a fast retransmission");
    expect(what.start == 2000 && what.end == 3000, "of the third segment");
    recoup_status status{};
    expect(recoup_get_status(sender.get(), &status) == 0 && status.state == RECOUP_STATE_RECOVERY, "in recovery");
    expect(status.srtt_ns == 50 * millisecond, "the round-trip time is 50 ms");
    return failures;
}
