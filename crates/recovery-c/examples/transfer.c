// Sends 5,000 chunks in numbered packets, over a link inside this program that loses and reorders packets. The sender
// lives in static memory. Usage: transfer [packets lost per thousand (5)] [seed (1)]

#include "recoup_recovery.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    CHUNKS = 5000,          // of a kilobyte each
    OUTSTANDING = 1000,     // packets, at most
    PACKETS = 2 * CHUNKS,   // sent in all, at most
    ON_LINK = 2048,         // packets and acknowledgments, at most
    RANGES = 64,            // in an acknowledgment, at most
    MICROSECOND = 1000,     // in nanoseconds
    MILLISECOND = 1000000,
};

// On its way: a packet, or (seen > 0) an acknowledgment of the first `seen` packets that arrived.
struct flight {
    uint64_t arrives, number, chunk;
    uint32_t seen;
    bool used;
};

static _Alignas(16) unsigned char memory[128 * 1024]; // the sender's
static struct flight on_link[ON_LINK];
static uint32_t arrival[PACKETS], arrivals, highest; // by packet number: 1 for the first to arrive, 2, …
static bool have[CHUNKS];
static uint32_t waiting[PACKETS], first_waiting, end_waiting; // chunks to send
static uint64_t now, link_free, random_state, dropped, per_thousand, acknowledged, taken, late;

static uint64_t below(uint64_t bound) { // a random number (xorshift64)
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % bound;
}

static int32_t check(int32_t code) {
    if (code < 0) {
        fprintf(stderr, "transfer: %s\n", recoup_error_text(code));
        exit(1);
    }
    return code;
}

// 20 ms each way, and 80 us for each packet before it (100 Mbit/s); one in a hundred takes up to 10 ms longer.
static void put_on_link(struct flight flight) {
    size_t i = 0;
    while (i < ON_LINK && on_link[i].used) i++;
    uint64_t leaves = flight.seen == 0 && link_free > now ? link_free : now;
    if (i == ON_LINK || leaves > now + 20 * MILLISECOND || below(1000) < per_thousand) {
        dropped++;
        return;
    }
    if (flight.seen == 0) link_free = leaves + 80 * MICROSECOND;
    flight.arrives = leaves + 20 * MILLISECOND + (below(100) == 0 ? below(10 * MILLISECOND) : 0);
    flight.used = true;
    on_link[i] = flight;
}

static struct flight *next_arrival(void) {
    struct flight *next = NULL;
    for (size_t i = 0; i < ON_LINK; i++) {
        if (on_link[i].used && (next == NULL || on_link[i].arrives < next->arrives)) next = &on_link[i];
    }
    return next;
}

static void receive(const struct flight *packet) {
    arrival[packet->number] = ++arrivals;
    if (packet->number > highest) highest = (uint32_t)packet->number;
    if (packet->chunk < CHUNKS) have[packet->chunk] = true;
    put_on_link((struct flight){.seen = arrivals});
}

static void count_chunk(void *context, const struct recoup_packet *packet) {
    uint64_t *chunks = context;
    *chunks += packet->token < CHUNKS;
}

// The packets among the first `seen` arrivals, as ranges, highest first. Old ones are left out.
static void acknowledge(struct recoup_sender *sender, uint32_t seen) {
    struct recoup_range ranges[RANGES];
    struct recoup_acked acked;
    size_t count = 0;
    uint32_t oldest = highest > ON_LINK ? highest - ON_LINK : 0;
    for (uint32_t number = highest + 1; number-- > oldest && count < RANGES;) {
        if (arrival[number] == 0 || arrival[number] > seen) continue;
        if (count > 0 && ranges[count - 1].start == number + 1) {
            ranges[count - 1].start = number;
        } else {
            ranges[count++] = (struct recoup_range){.start = number, .end = number + 1};
        }
    }
    check(recoup_on_packets_acked(sender, now, ranges, count, 0, count_chunk, &acknowledged, &acked));
    late += acked.late;
}

static void send_all(struct recoup_sender *sender) {
    struct recoup_transmission what;
    while (check(recoup_next_send(sender, now, &what)) == 1 && what.start < PACKETS) {
        // A probe may be due although no chunk waits: then the packet is empty.
        uint64_t chunk = first_waiting < end_waiting ? waiting[first_waiting++] : CHUNKS;
        check(recoup_on_sent(sender, now, &what, 1024, chunk));
        put_on_link((struct flight){.number = what.start, .chunk = chunk});
    }
}

// The chunks of lost packets wait for their retransmission.
static void take_lost(struct recoup_sender *sender) {
    struct recoup_packet lost;
    for (; check(recoup_take_lost(sender, now, &lost)) == 1; taken++) {
        if (lost.token < CHUNKS && end_waiting < PACKETS) {
            waiting[end_waiting++] = (uint32_t)lost.token;
            check(recoup_written(sender, now, 1));
        }
    }
}

// The argument at `place`, or `otherwise` if there is none.
static uint64_t number(int argc, char **argv, int place, uint64_t otherwise) {
    if (argc <= place) return otherwise;
    char *end;
    uint64_t value = strtoull(argv[place], &end, 10);
    if (argc > 3 || *argv[place] < '0' || *argv[place] > '9' || *end != '\0') {
        fprintf(stderr, "usage: transfer [packets lost per thousand (5)] [seed (1)]\n");
        exit(2);
    }
    return value;
}

int main(int argc, char **argv) {
    per_thousand = number(argc, argv, 1, 5);
    random_state = 2 * number(argc, argv, 2, 1) + 1;

    struct recoup_settings settings = {0};
    settings.profile = "linux-6";
    settings.numbering = RECOUP_NUMBERING_PACKETS;
    settings.segment_size = 1024;
    settings.most_outstanding = OUTSTANDING;
    settings.first_rtt_ns = RECOUP_NONE;
    struct recoup_sender *sender;
    check(recoup_sender_init(memory, sizeof memory, &settings, &sender));

    for (; end_waiting < CHUNKS; end_waiting++) waiting[end_waiting] = end_waiting;
    check(recoup_written(sender, now, CHUNKS));
    while (acknowledged < CHUNKS) {
        send_all(sender);
        struct flight *arriving = next_arrival();
        uint64_t deadline;
        int32_t timer, runs = check(recoup_next_timer(sender, &deadline, &timer));
        if (arriving != NULL && (runs == 0 || arriving->arrives <= deadline)) {
            struct flight flight = *arriving;
            arriving->used = false;
            now = flight.arrives;
            if (flight.seen > 0) acknowledge(sender, flight.seen);
            else receive(&flight);
        } else if (runs == 1) {
            now = deadline > now ? deadline : now;
            check(recoup_on_timer(sender, now, timer));
        } else {
            fprintf(stderr, "transfer: the sender gave up: the receiver acknowledges nothing any more\n");
            return 1;
        }
        take_lost(sender);
    }

    struct recoup_status status;
    struct recoup_counters counters;
    check(recoup_get_status(sender, &status));
    check(recoup_get_counters(sender, &counters));
    uint32_t received = 0;
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) received += have[chunk];
    printf("recoup %s: %" PRIu32 " of %d chunks received in %" PRIu64 " ms\n", recoup_version(), received, CHUNKS,
           now / MILLISECOND);
    printf("packets sent: %" PRIu64 ", declared lost: %" PRIu64 ", of these only late: %" PRIu64 "\n", status.next, taken, late);
    printf("dropped by the link: %" PRIu64 ", recoveries: %" PRIu64 ", timeouts: %" PRIu64 "\n", dropped,
           counters.recoveries, counters.timeouts);
    printf("cwnd: %" PRIu32 " packets, SRTT: %" PRIu64 " us\n", status.cwnd, status.srtt_ns / 1000);
    check(recoup_sender_free(sender));
    return received == CHUNKS ? 0 : 1;
}
