// TCP loss recovery for your own transport protocol. Generated from the crate recoup-recovery-c: do not edit.
//
// A sender is one direction of a connection. It has no clock, no input and output, and no threads. The host
//   1. reports how much data waits         recoup_written
//   2. asks what to send, sends it, and
//      reports it, until nothing is left   recoup_next_send, recoup_on_sent
//   3. reports acknowledgments             recoup_on_ack, or recoup_on_packets_acked
//   4. where packets are numbered, takes
//      out lost packets, and calls
//      recoup_written for what it sends
//      again in new packets                recoup_take_lost
//   5. waits for a timer or a packet       recoup_next_timer, recoup_on_timer
//   6. stops once the sender gave up       recoup_get_status
// and returns to 2 after each of 1, 3, 4 and 5.
//
// Times are in nanoseconds since an epoch that the host chooses. They come from one clock that never goes back: a
// duration that would be negative counts as 0. Positions are bytes of the stream, or numbers of packets, both from 0.
// Functions return 0 or more, or a negative RECOUP_ERROR_…. After an error, the sender is as before.
//
// The library cannot check the following duties of the host:
//   - A pointer that is neither null nor misaligned points to a value of its type. Text ends with a zero byte.
//   - A pointer to a sender came from recoup_sender_new() or recoup_sender_init(), and was not freed since.
//   - No other thread uses the sender during a call. Different senders are independent of each other.
//   - The host neither moves nor changes the memory that it gave to a sender.

#ifndef RECOUP_RECOVERY_H
#define RECOUP_RECOVERY_H

#include <stddef.h>
#include <stdint.h>

// A time or duration that does not exist.
#define RECOUP_NONE UINT64_MAX

// The largest position.
#define RECOUP_LAST_POSITION 4611686018427387904

// The most segments or packets that a sender can be made for.
#define RECOUP_MOST_OUTSTANDING 2147483648

// Why a function refused a call. The sender is as before.
typedef enum recoup_error {
    // A pointer is null.
    RECOUP_ERROR_NULL = -1,
    // A pointer is not aligned.
    RECOUP_ERROR_MISALIGNED = -2,
    // The memory is smaller than recoup_sender_size() says.
    RECOUP_ERROR_TOO_SMALL = -3,
    // No profile has this name.
    RECOUP_ERROR_PROFILE = -4,
    // A field of the settings is out of range.
    RECOUP_ERROR_SETTINGS = -5,
    // The pointer does not lead to a sender, or the sender was freed.
    RECOUP_ERROR_NOT_A_SENDER = -6,
    // The function was called from inside a callback of the same sender.
    RECOUP_ERROR_BUSY = -7,
    // A position is larger than RECOUP_LAST_POSITION.
    RECOUP_ERROR_POSITION = -8,
    // A number is none of the constants that belong there. A retransmission needs a trigger other than NONE.
    RECOUP_ERROR_CONSTANT = -9,
    // New data must begin where the last ended, and be neither empty nor longer than 4 GiB; a packet has one number.
    RECOUP_ERROR_NOT_NEXT = -10,
    // A numbered packet is sent once.
    RECOUP_ERROR_REPEATED = -11,
    // The connection was given up, because its user timeout passed.
    RECOUP_ERROR_GIVEN_UP = -12,
    // As many segments are outstanding as the sender has memory for.
    RECOUP_ERROR_FULL = -13,
    // The function is for the other kind of numbering.
    RECOUP_ERROR_NUMBERING = -14,
    // Only outstanding data is copied or retransmitted.
    RECOUP_ERROR_NOT_OUTSTANDING = -15,
    // A sender with this profile needs the heap: use recoup_sender_new(). These are profiles that send copies
    // ("+slp"), and profiles with adaptive thresholds ("+adaptive") where positions count bytes.
    RECOUP_ERROR_NEEDS_HEAP = -16,
    // The transmission was refused for another reason.
    RECOUP_ERROR_REFUSED = -17,
} recoup_error;

// The unit of positions.
typedef enum recoup_numbering {
    // Bytes of a stream. Lost bytes are retransmitted at the same position.
    RECOUP_NUMBERING_BYTES = 0,
    // Packets. Each is sent once. The host sends the contents of a lost packet in a new packet.
    RECOUP_NUMBERING_PACKETS = 1,
} recoup_numbering;

// The kind of a transmission.
typedef enum recoup_kind {
    // Data, or a packet, for the first time.
    RECOUP_KIND_NEW = 0,
    // Data, or a packet, for the first time, as a tail loss probe. It ignores the congestion window. Where packets are numbered, it may be due
    // although nothing was written: send the contents of an outstanding packet again, or anything else that the
    // peer acknowledges.
    RECOUP_KIND_NEW_PROBE = 1,
    // A retransmission.
    RECOUP_KIND_AGAIN = 2,
    // A copy of outstanding data before any sign of loss.
    RECOUP_KIND_COPY = 3,
    // An empty segment that makes the peer send an ACK with its window.
    RECOUP_KIND_WINDOW_PROBE = 4,
} recoup_kind;

// The trigger of a retransmission.
typedef enum recoup_trigger {
    // The transmission is no retransmission, or its trigger has no name here.
    RECOUP_TRIGGER_NONE = 0,
    // Fast recovery.
    RECOUP_TRIGGER_FAST = 1,
    // Early retransmit (RFC 5827).
    RECOUP_TRIGGER_EARLY = 2,
    // The segment that the retransmission timer itself sends.
    RECOUP_TRIGGER_RTO = 3,
    // A further retransmission after a timeout.
    RECOUP_TRIGGER_SLOW_START = 4,
    // A tail loss probe.
    RECOUP_TRIGGER_TLP = 5,
    // The path MTU fell, and the segment is larger.
    RECOUP_TRIGGER_PATH_MTU = 6,
    // A larger segment that probed for a larger path MTU was lost.
    RECOUP_TRIGGER_MTU_PROBE = 7,
} recoup_trigger;

// The purpose of a timer.
typedef enum recoup_timer {
    // Delayed early retransmit.
    RECOUP_TIMER_EARLY = 0,
    // The reordering window of RACK, or RFC 9002's time threshold.
    RECOUP_TIMER_REORDER = 1,
    // Tail loss probe, or RFC 9002's probe timeout.
    RECOUP_TIMER_PROBE = 2,
    // Retransmission timeout.
    RECOUP_TIMER_RTO = 3,
    // Zero-window probe.
    RECOUP_TIMER_PERSIST = 4,
    // The gap between a segment and its copy is over.
    RECOUP_TIMER_COPY = 5,
    // The user timeout: the connection is given up.
    RECOUP_TIMER_USER = 6,
    // The next burst of a sender that paces by itself may leave.
    RECOUP_TIMER_PACING = 7,
} recoup_timer;

// The state of a sender, by Linux's names.
typedef enum recoup_state {
    // Nothing is missing.
    RECOUP_STATE_OPEN = 0,
    // Something is missing, too little to be called lost.
    RECOUP_STATE_DISORDER = 1,
    // The congestion window is being reduced, and nothing is to be repaired.
    RECOUP_STATE_CWR = 2,
    // Fast recovery.
    RECOUP_STATE_RECOVERY = 3,
    // After a retransmission timeout.
    RECOUP_STATE_LOSS = 4,
} recoup_state;

// A sender: one direction of a connection.
typedef struct recoup_sender recoup_sender;

// How a sender begins.
typedef struct recoup_settings {
    // The profile, such as "linux-6" or "linux-3.17+rtor". A C string.
    const char *profile;
    // The time of the call.
    uint64_t now_ns;
    // The peer's window before its first ACK, in bytes. Not used where packets are numbered.
    uint64_t window;
    // The first RTT sample, from the host's handshake. 0 or RECOUP_NONE if there is none.
    uint64_t first_rtt_ns;
    // Bytes of a full segment or packet, 1 to 2^30.
    uint32_t segment_size;
    // The most segments or packets that can be outstanding, 1 to RECOUP_MOST_OUTSTANDING. For recoup_sender_new(),
    // 0 means as many as the heap has room for.
    uint32_t most_outstanding;
    // The unit of positions: RECOUP_NUMBERING_BYTES or RECOUP_NUMBERING_PACKETS.
    int32_t numbering;
    // Not 0 if windows count bytes: a small segment then fills the congestion window, and makes it grow, by its own
    // bytes. Otherwise every segment counts as a full one.
    int32_t count_bytes;
    // Not 0 if the host paces by recoup_next_departure().
    int32_t paced;
} recoup_settings;

// A segment or packet that is to be sent, or was.
typedef struct recoup_transmission {
    // The first position that it carries.
    uint64_t start;
    // The first position after it. A window probe has neither.
    uint64_t end;
    // One of RECOUP_KIND_….
    int32_t kind;
    // One of RECOUP_TRIGGER_….
    int32_t trigger;
} recoup_transmission;

// A packet or segment that was sent.
typedef struct recoup_packet {
    // Its number, or the first position that it carries.
    uint64_t start;
    // The first position after it.
    uint64_t end;
    // When it was last sent.
    uint64_t sent_at_ns;
    // The host's token for it.
    uint64_t token;
    // Its bytes, as the host reported them.
    uint32_t size;
} recoup_packet;

// Positions from `start` up to `end`, without `end`.
typedef struct recoup_range {
    // The first position.
    uint64_t start;
    // The first position after it.
    uint64_t end;
} recoup_range;

// An ACK, where positions count bytes.
typedef struct recoup_ack {
    // Everything below has arrived in order.
    uint64_t cumulative;
    // The receiver's window: the bytes that it takes from `cumulative` on.
    uint64_t window;
    // The ranges that arrived above `cumulative`, in any order. As in TCP, the first range may instead report a
    // duplicate (RFC 2883): it is then below `cumulative`, or inside the second range. The call changes the ranges
    // while it runs, and restores them. Null if there are none.
    struct recoup_range *ranges;
    // The number of ranges.
    size_t range_count;
    // The time since the segment whose timestamp is echoed was sent. 0 or RECOUP_NONE without timestamps.
    uint64_t timestamp_rtt_ns;
    // The segment whose timestamp is echoed was sent before this time. 0 or RECOUP_NONE without timestamps.
    uint64_t echo_sent_before_ns;
    // How long the receiver held this ACK back. 0 if it does not say.
    uint64_t delay_ns;
    // Not 0 if the ACK came with data, so that it is no duplicate ACK.
    int32_t carries_data;
} recoup_ack;

// The effects of an ACK.
typedef struct recoup_acked {
    // How far the lowest position not acknowledged moved.
    uint64_t advanced;
    // Segments that the cumulative acknowledgment covers now.
    uint32_t newly_acked;
    // Segments reported by a range for the first time.
    uint32_t newly_sacked;
    // Segments that left the network.
    uint32_t delivered;
    // Packets that were taken out as lost, and arrived after all.
    uint32_t late;
} recoup_acked;

// A function of the host that receives each outstanding packet that an ACK acknowledges. `context` is the pointer
// that the host passed with it. The packet is valid during the call alone. The function must return normally. If it
// calls a function with the same sender, that function returns RECOUP_ERROR_BUSY.
typedef void (*recoup_packet_callback)(void *context, const struct recoup_packet *packet);

// The state of a sender. Windows, pipe and thresholds count segments or packets, unless their names say bytes.
typedef struct recoup_status {
    // The lowest position that is not acknowledged.
    uint64_t unacknowledged;
    // The next position to be sent for the first time.
    uint64_t next;
    // The end of the data written.
    uint64_t written;
    // The smoothed round-trip time, or RECOUP_NONE before the first sample.
    uint64_t srtt_ns;
    // The variation of the round-trip time, or RECOUP_NONE before the first sample.
    uint64_t rttvar_ns;
    // The retransmission timeout in force, back-off included.
    uint64_t rto_ns;
    // The pacing rate in bits per second, or 0 before the first RTT sample.
    uint64_t pacing_bits_per_second;
    // The congestion window in bytes.
    uint64_t cwnd_bytes;
    // Bytes in flight. Where windows do not count bytes, every segment counts as a full one.
    uint64_t bytes_in_flight;
    // The congestion window.
    uint32_t cwnd;
    // The slow-start threshold; UINT32_MAX until the first reduction.
    uint32_t ssthresh;
    // Segments in flight.
    uint32_t pipe;
    // Segments outstanding: sent, and not acknowledged cumulatively. Those taken out as lost count until everything
    // below them is settled.
    uint32_t outstanding;
    // Retransmission timeouts since the peer last acknowledged new data.
    uint32_t timeouts;
    // The state, RECOUP_STATE_….
    int32_t state;
    // 1 if the connection was given up, because its user timeout passed.
    int32_t gave_up;
} recoup_status;

// The counts of a sender since it was made.
typedef struct recoup_counters {
    // Segments sent, retransmissions included, copies not.
    uint64_t sent;
    // Segments delivered.
    uint64_t delivered;
    // Segments retransmitted.
    uint64_t retransmitted;
    // Segments retransmitted by fast recovery.
    uint64_t fast_retransmitted;
    // Tail loss probes.
    uint64_t probes;
    // Retransmission timeouts.
    uint64_t timeouts;
    // Fast recoveries.
    uint64_t recoveries;
    // Retransmissions found lost.
    uint64_t lost_retransmissions;
    // Duplicates that the receiver reported.
    uint64_t duplicates;
    // Copies sent.
    uint64_t copies;
    // Window reductions undone.
    uint64_t undone;
    // How often reordering was detected.
    uint64_t reordering_seen;
    // Acknowledgments and ranges that were ignored because they cannot be true.
    uint64_t impossible;
    // Time in Recovery.
    uint64_t in_recovery_ns;
    // Time in Loss.
    uint64_t in_loss_ns;
    // Time with data outstanding.
    uint64_t busy_ns;
} recoup_counters;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The bytes of memory that recoup_sender_init() needs for a sender with at most `most_outstanding` segments or packets
// outstanding: 1 to RECOUP_MOST_OUTSTANDING. Returns 0 for other numbers.
size_t recoup_sender_size(uint32_t most_outstanding);

// The alignment of the memory for recoup_sender_init(), in bytes: its address must be a multiple of it.
size_t recoup_sender_alignment(void);

// Makes a sender in memory of the host, and writes a pointer to it to `sender`. `length`: the bytes of memory.
// Neither this call nor any later one with this sender uses the heap. The memory belongs to the sender until
// recoup_sender_free(). A host that no longer uses the sender may also reuse the memory without that call.
//
// Returns 0, or an error: NULL, MISALIGNED, TOO_SMALL, PROFILE, SETTINGS, CONSTANT, NEEDS_HEAP.
int32_t recoup_sender_init(void *memory,
                           size_t length,
                           const struct recoup_settings *settings,
                           struct recoup_sender **sender);

// Makes a sender on the heap, and writes a pointer to it to `sender`. If the heap is full, the process aborts.
// recoup_sender_free() frees it.
//
// Returns 0, or an error: NULL, MISALIGNED, PROFILE, SETTINGS, CONSTANT.
int32_t recoup_sender_new(const struct recoup_settings *settings,
                          struct recoup_sender **sender);

// Ends a sender. Memory on the heap is freed; memory of the host belongs to the host again. Does nothing if `sender`
// is null.
//
// Returns 0, or an error: MISALIGNED, NOT_A_SENDER, BUSY.
int32_t recoup_sender_free(struct recoup_sender *sender);

// The version of the library, such as "0.1.0". A C string that is never freed.
const char *recoup_version(void);

// Checks whether `name` is a profile, such as "linux-6" or "linux-3.17+rtor". If it is not, writes to `reason` the
// unknown word and the known ones, as a C string that is cut to `length` bytes. The text has fewer than 500
// bytes besides the unknown word. `reason` may be null.
//
// Allocates memory, and frees it before it returns. Returns 0, or an error: NULL, PROFILE.
int32_t recoup_profile_check(const char *name,
                             char *reason,
                             size_t length);

// Explains a code that a function returned, in English. A C string that is never freed. For a negative code that no
// function returns, it is "unknown error".
const char *recoup_error_text(int32_t code);

// `count` more bytes or packets wait to be sent.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
int32_t recoup_written(struct recoup_sender *sender, uint64_t now_ns, uint64_t count);

// The host takes back the last `count` bytes or packets that wait to be sent, or all of them if there are fewer.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
int32_t recoup_withdrawn(struct recoup_sender *sender,
                         uint64_t now_ns,
                         uint64_t count);

// Writes to `what` the transmission that the sender would make now. The call changes nothing.
//
// Returns 1, or 0 if nothing is to be sent, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
int32_t recoup_next_send(const struct recoup_sender *sender,
                         uint64_t now_ns,
                         struct recoup_transmission *what);

// The host sent `what`, which recoup_next_send() wrote. `size`: its bytes, with or without headers. `token`: any
// number by which the host recognizes its contents.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY, POSITION, CONSTANT, NOT_NEXT, REPEATED, GIVEN_UP,
// FULL, NOT_OUTSTANDING, REFUSED.
int32_t recoup_on_sent(struct recoup_sender *sender,
                       uint64_t now_ns,
                       const struct recoup_transmission *what,
                       uint32_t size,
                       uint64_t token);

// Takes out the lowest lost segment or packet, and writes it to `lost`. The sender neither retransmits it nor waits
// for it any longer. Where packets are numbered, the host calls this after each ACK and each timer until it returns
// 0. To send the contents of a lost packet again, it calls recoup_written() with one packet for each.
//
// Returns 1, or 0 if nothing is lost, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
int32_t recoup_take_lost(struct recoup_sender *sender,
                         uint64_t now_ns,
                         struct recoup_packet *lost);

// Retransmits none of the outstanding segments inside `start` to `end` from now on. The host tells its peer not to
// wait for them. A segment in flight counts as in flight until it is acknowledged or lost.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY, POSITION, NUMBERING.
int32_t recoup_abandon(struct recoup_sender *sender,
                       uint64_t now_ns,
                       uint64_t start,
                       uint64_t end);

// An ACK arrived, where positions count bytes. Writes to `acked` what it changed, unless `acked` is null. Data that
// was never sent is not acknowledged: such an ACK, or such a range of it, is ignored and counted as impossible.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY, POSITION, NUMBERING.
int32_t recoup_on_ack(struct recoup_sender *sender,
                      uint64_t now_ns,
                      const struct recoup_ack *ack,
                      struct recoup_acked *acked);

// An acknowledgment of numbered packets arrived. `ranges`: the packets that it reports, in any order; they may repeat
// earlier reports. The call changes the ranges while it runs, and restores them. A range with a packet that was
// never sent is ignored and counted as impossible. `delay_ns`: how long the receiver held the acknowledgment back, or
// 0 if it does not say. Calls `each`, unless it is null, with every outstanding packet that this acknowledges, in no
// particular order. Writes to `acked` what the acknowledgment changed, unless `acked` is null.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY, POSITION, NUMBERING.
int32_t recoup_on_packets_acked(struct recoup_sender *sender,
                                uint64_t now_ns,
                                struct recoup_range *ranges,
                                size_t range_count,
                                uint64_t delay_ns,
                                recoup_packet_callback each,
                                void *context,
                                struct recoup_acked *acked);

// The network or the host signals congestion by other means than a loss: an ECN mark (RFC 9002 §7.1, RFC 3168), or a
// full local queue. The window falls, once per round trip. The ACK that reports the mark comes before this call.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
int32_t recoup_on_congestion_signal(struct recoup_sender *sender,
                                    uint64_t now_ns);

// Writes the earliest deadline and its timer, RECOUP_TIMER_…. The host may call recoup_on_timer() somewhat later.
//
// Returns 1, or 0 if no timer runs, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
int32_t recoup_next_timer(const struct recoup_sender *sender,
                          uint64_t *deadline_ns,
                          int32_t *timer);

// A timer fired. Afterwards recoup_next_send() writes what to send. A timer that does not run, or whose deadline is
// later, is ignored.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY, CONSTANT.
int32_t recoup_on_timer(struct recoup_sender *sender,
                        uint64_t now_ns,
                        int32_t timer);

// Writes when the pacing rate lets the next segment leave: now, or later. It is now before the first RTT sample, for
// the first ten segments after a pause, and if the settings do not ask for pacing. recoup_next_send() does not wait
// for it, and no timer fires at it: the host waits.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
int32_t recoup_next_departure(const struct recoup_sender *sender,
                              uint64_t now_ns,
                              uint64_t *departure_ns);

// Writes the state of the sender.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
int32_t recoup_get_status(const struct recoup_sender *sender, struct recoup_status *status);

// Writes the counts of the sender.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
int32_t recoup_get_counters(const struct recoup_sender *sender, struct recoup_counters *counters);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* RECOUP_RECOVERY_H */
