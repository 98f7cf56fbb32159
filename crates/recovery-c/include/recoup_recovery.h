// TCP loss recovery for protocols of your own. Generated from the crate recoup-recovery-c: do not edit.
//
// A sender is one direction of a connection. It has no clock, no input and output, and no threads. The host
//   1. says how much data waits            recoup_written
//   2. asks what to send, sends it, and
//      says that it was sent               recoup_next_send, recoup_on_sent, until there is nothing to send
//   3. says what was acknowledged          recoup_on_ack, or recoup_on_packets_acked
//   4. takes out lost packets, if packets
//      are numbered, and writes their
//      contents anew                       recoup_take_lost
//   5. waits for a timer or a packet       recoup_next_timer, recoup_on_timer
// and goes back to 2 after each of 1, 3, 4 and 5.
//
// Times are in nanoseconds since an epoch that the host chooses, and must not go back. Positions are bytes of the
// stream, or numbers of packets, both from 0. Functions return 0 or more, or a negative RECOUP_ERROR_…. After an
// error, the sender is as before.
//
// What the library cannot check is the host's duty:
//   - A pointer that is neither null nor misaligned leads to what its type says. Text ends with a zero byte.
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

// Why a function refused to do what it was asked to. The sender is as before.
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
    // A number is none of the named constants that belong there.
    RECOUP_ERROR_CONSTANT = -9,
    // New data must begin where the last ended, and be neither empty nor longer than 4 GiB; a packet has one number.
    RECOUP_ERROR_NOT_NEXT = -10,
    // A numbered packet is sent once.
    RECOUP_ERROR_REPEATED = -11,
    // The connection was given up, because its user timeout passed.
    RECOUP_ERROR_GIVEN_UP = -12,
    // As many segments are outstanding as the sender has memory for.
    RECOUP_ERROR_FULL = -13,
    // The call is for the other kind of numbering.
    RECOUP_ERROR_NUMBERING = -14,
    // Only outstanding data is sent again.
    RECOUP_ERROR_NOT_OUTSTANDING = -15,
    // A sender with this profile needs the heap: one that sends copies, and one of bytes with adaptive thresholds. See
    // recoup_sender_new().
    RECOUP_ERROR_NEEDS_HEAP = -16,
    // The transmission was refused for another reason.
    RECOUP_ERROR_REFUSED = -17,
} recoup_error;

// What a position counts.
typedef enum recoup_numbering {
    // Bytes of a stream. What is lost is sent again at the same position.
    RECOUP_NUMBERING_BYTES = 0,
    // Packets. Each is sent once; what was in a lost packet goes in a new one.
    RECOUP_NUMBERING_PACKETS = 1,
} recoup_numbering;

// What is sent.
typedef enum recoup_kind {
    // Data, or a packet, for the first time.
    RECOUP_KIND_NEW = 0,
    // The same as a tail loss probe: it ignores the congestion window.
    RECOUP_KIND_NEW_PROBE = 1,
    // A retransmission.
    RECOUP_KIND_AGAIN = 2,
    // A copy of outstanding data before any sign of loss.
    RECOUP_KIND_COPY = 3,
    // An empty segment that makes the peer send an ACK with its window.
    RECOUP_KIND_WINDOW_PROBE = 4,
} recoup_kind;

// What triggered a retransmission.
typedef enum recoup_trigger {
    // It is no retransmission, or has a trigger without a name here.
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

// What a timer is for.
typedef enum recoup_timer {
    // Delayed early retransmit.
    RECOUP_TIMER_EARLY = 0,
    // The reordering window (RACK).
    RECOUP_TIMER_REORDER = 1,
    // Tail loss probe.
    RECOUP_TIMER_PROBE = 2,
    // Retransmission timeout.
    RECOUP_TIMER_RTO = 3,
    // Zero-window probe.
    RECOUP_TIMER_PERSIST = 4,
    // The gap between a segment and its copy is over.
    RECOUP_TIMER_COPY = 5,
    // The user timeout: the connection is given up.
    RECOUP_TIMER_USER = 6,
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
    // Bytes that the peer takes before its first ACK. Not used where packets are numbered.
    uint64_t window;
    // The first RTT sample, from the host's handshake, or RECOUP_NONE.
    uint64_t first_rtt_ns;
    // Bytes of a full segment or packet, 1 to 2^30.
    uint32_t segment_size;
    // The most segments or packets that can be outstanding, 1 to RECOUP_MOST_OUTSTANDING. For recoup_sender_new(),
    // 0 means as many as the heap has room for.
    uint32_t most_outstanding;
    // What positions count: RECOUP_NUMBERING_BYTES or RECOUP_NUMBERING_PACKETS.
    int32_t numbering;
    // Not 0 if windows count bytes: a small segment fills the congestion window, and makes it grow, by its own bytes.
    // Otherwise every segment counts the same.
    int32_t count_bytes;
    // Not 0 if the host paces, so that recoup_next_departure() is kept.
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
    // When it was sent last.
    uint64_t sent_at_ns;
    // What the host gave with it.
    uint64_t token;
    // Its bytes, as the host said.
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
    // Bytes that the receiver takes from `cumulative` on.
    uint64_t window;
    // What arrived above `cumulative`, in any order. As in TCP, the first range may instead report a duplicate:
    // it is then below `cumulative`, or inside the second range. The call changes the ranges while it runs, and
    // restores them. Null if there are none.
    struct recoup_range *ranges;
    // The number of ranges.
    size_t range_count;
    // The time since the segment whose timestamp is echoed was sent, or RECOUP_NONE.
    uint64_t timestamp_rtt_ns;
    // The segment whose timestamp is echoed was sent before this time, or RECOUP_NONE.
    uint64_t echo_sent_before_ns;
    // How long the receiver says that it kept this ACK back; 0 where it does not say.
    uint64_t delay_ns;
    // Not 0 if the ACK came with data, so that it is no duplicate ACK.
    int32_t carries_data;
} recoup_ack;

// What an ACK changed.
typedef struct recoup_acked {
    // How far the lowest position not acknowledged moved.
    uint64_t advanced;
    // Segments that the cumulative acknowledgment covers now.
    uint32_t newly_acked;
    // Segments reported by a range for the first time.
    uint32_t newly_sacked;
    // Segments that left the network.
    uint32_t delivered;
    // Packets that were given up as lost, and arrived after all.
    uint32_t late;
} recoup_acked;

// Receives each packet that an ACK acknowledges first. `context` is what the host passed with it. The packet is
// gone after the call. It must return normally, and must not call a function with the same sender: such calls
// return RECOUP_ERROR_BUSY.
typedef void (*recoup_packet_callback)(void *context, const struct recoup_packet *packet);

// What a sender knows. Windows, pipe and thresholds are in segments or packets, where they do not say bytes.
typedef struct recoup_status {
    // The lowest position not acknowledged.
    uint64_t unacknowledged;
    // The next position to be sent for the first time.
    uint64_t next;
    // The end of what was written.
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
    // What is in flight.
    uint32_t pipe;
    // What is outstanding: sent, and neither acknowledged in order nor taken out as lost.
    uint32_t outstanding;
    // Retransmission timeouts since the peer last acknowledged new data.
    uint32_t timeouts;
    // The state, RECOUP_STATE_….
    int32_t state;
    // 1 if the connection was given up, because its user timeout passed.
    int32_t gave_up;
} recoup_status;

// What a sender has counted since it was made.
typedef struct recoup_counters {
    // Segments sent, retransmissions included, copies not.
    uint64_t sent;
    // Segments delivered.
    uint64_t delivered;
    // Segments retransmitted.
    uint64_t retransmitted;
    // Those of them that fast recovery sent.
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
    // Acknowledgments, ranges and transmissions that cannot be, ignored.
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

// What the address of the memory for recoup_sender_init() must be a multiple of.
size_t recoup_sender_alignment(void);

// Makes a sender in memory of the host, and writes where it is to `sender`. `length`: the bytes of memory.
// Neither this call nor any later one with this sender uses the heap. The memory is the sender's until
// recoup_sender_free(). A host that no longer uses the sender may also reuse the memory without that call.
//
// Returns 0, or an error: NULL, MISALIGNED, TOO_SMALL, PROFILE, SETTINGS, CONSTANT, NEEDS_HEAP.
int32_t recoup_sender_init(void *memory,
                           size_t length,
                           const struct recoup_settings *settings,
                           struct recoup_sender **sender);

// Makes a sender on the heap, and writes where it is to `sender`. If the heap is full, the process aborts.
// recoup_sender_free() frees it.
//
// Returns 0, or an error: NULL, MISALIGNED, PROFILE, SETTINGS, CONSTANT.
int32_t recoup_sender_new(const struct recoup_settings *settings, struct recoup_sender **sender);

// Ends a sender. One on the heap is freed; the memory of another is the host's again. Nothing happens if `sender`
// is null.
//
// Returns 0, or an error: MISALIGNED, NOT_A_SENDER, BUSY.
int32_t recoup_sender_free(struct recoup_sender *sender);

// The version of the library, such as "0.1.0". A C string that is never freed.
const char *recoup_version(void);

// Says whether `name` is a profile, such as "linux-6" or "linux-3.17+rtor". If it is not, writes to `reason` which
// word is unknown, and the words that are known: a C string, cut to `length` bytes. `reason` may be null.
//
// Allocates memory, and frees it before it returns. Returns 0, or an error: NULL, PROFILE.
int32_t recoup_profile_check(const char *name,
                             char *reason,
                             size_t length);

// What the code that a function returned means, in English. A C string that is never freed. A code that no
// function returns is called unknown.
const char *recoup_error_text(int32_t code);

// `count` more bytes, or packets, wait to be sent.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
int32_t recoup_written(struct recoup_sender *sender, uint64_t now_ns, uint64_t count);

// The host takes back `count` bytes, or packets, that wait to be sent, or all of them if there are fewer.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
int32_t recoup_withdrawn(struct recoup_sender *sender, uint64_t now_ns, uint64_t count);

// Writes to `what` what the sender would send now. Asking changes nothing. The answer stays the same until an ACK,
// a timer, a write or a transmission.
//
// Returns 1, or 0 if nothing is to be sent, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
int32_t recoup_next_send(const struct recoup_sender *sender,
                         uint64_t now_ns,
                         struct recoup_transmission *what);

// Something was sent: what recoup_next_send() wrote. `size`: its bytes, headers included if the host likes.
// `token`: anything by which the host knows it again.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY, POSITION, CONSTANT, NOT_NEXT, REPEATED, GIVEN_UP,
// FULL, NOT_OUTSTANDING, REFUSED.
int32_t recoup_on_sent(struct recoup_sender *sender,
                       uint64_t now_ns,
                       const struct recoup_transmission *what,
                       uint32_t size,
                       uint64_t token);

// Takes out the first lost segment or packet, and writes it to `lost`. The sender does not send it again, and waits
// for it no longer. Where packets are numbered, the host calls this after each ACK and timer until it returns 0.
//
// Returns 1, or 0 if nothing is lost, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
int32_t recoup_take_lost(struct recoup_sender *sender,
                         uint64_t now_ns,
                         struct recoup_packet *lost);

// The outstanding segments inside `start` to `end` are never to be sent again, because the host has told its peer
// to go on without them. One in flight still counts as in flight until it is acknowledged or lost.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY, POSITION.
int32_t recoup_abandon(struct recoup_sender *sender,
                       uint64_t now_ns,
                       uint64_t start,
                       uint64_t end);

// An ACK arrived, where positions count bytes. Writes to `acked` what it changed, unless that is null.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY, POSITION, NUMBERING.
int32_t recoup_on_ack(struct recoup_sender *sender,
                      uint64_t now_ns,
                      const struct recoup_ack *ack,
                      struct recoup_acked *acked);

// Packets were acknowledged: those whose numbers are in the ranges, in any order, reported before or not.
// `delay_ns`: how long the receiver says that it kept the acknowledgment back. The call changes the ranges while it
// runs, and restores them. Calls `each`, unless that is null, with every packet that this acknowledges first.
// Writes to `acked` what the acknowledgment changed, unless that is null.
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

// Writes the earliest deadline and its timer, RECOUP_TIMER_…. The host may wait a little longer.
//
// Returns 1, or 0 if no timer runs, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
int32_t recoup_next_timer(const struct recoup_sender *sender, uint64_t *deadline_ns, int32_t *timer);

// A timer fired. recoup_next_send() says what the sender sends for it. A timer that does not run, or whose deadline
// is later, is ignored.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY, CONSTANT.
int32_t recoup_on_timer(struct recoup_sender *sender,
                        uint64_t now_ns,
                        int32_t timer);

// Writes when the pacing rate lets the next segment leave: now, or later. It is now where the settings say that the
// host does not pace, and before the first RTT sample. recoup_next_send() does not wait for it, and timers do not
// regard it.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
int32_t recoup_next_departure(const struct recoup_sender *sender,
                              uint64_t now_ns,
                              uint64_t *departure_ns);

// Writes what the sender knows.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
int32_t recoup_get_status(const struct recoup_sender *sender, struct recoup_status *status);

// Writes what the sender has counted.
//
// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
int32_t recoup_get_counters(const struct recoup_sender *sender, struct recoup_counters *counters);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* RECOUP_RECOVERY_H */
