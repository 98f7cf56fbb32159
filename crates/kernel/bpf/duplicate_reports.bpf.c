// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Takes the receiver's reports of duplicates (RFC 2883) out of arriving segments, if another program of this host sent
// the duplicate. src/duplicate_reports.rs attaches it to an interface and says which.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_helpers.h>

// linux/bpf.h of Linux 6.6: what follows is for the next program, and in the end for the kernel.
#define TCX_NEXT -1
#define TCX_DROP 2
// linux/socket.h, linux/in.h.
#define AF_INET 2
#define AF_INET6 10
#define TCP 6

// RFC 9293 §3.1 and §3.2, RFC 2018 §3, RFC 7323 §3.
#define ACK_ALONE 0x10
#define END_OF_OPTIONS 0
#define NOP 1
#define SACK 5
#define TIMESTAMPS 8
#define LONGEST_OPTIONS 40
#define BLOCK 8

#define RANGES 4

// The compiler forgets what is known of the value, so that it does not take out a test which the kernel's verifier
// wants to see.
#define KEEP(value) asm volatile("" : "+r"(value))

// IPv4: the first four bytes of addresses. Addresses and ports are in the order of the packet.
struct connection {
	__u8 remote[16];
	__u8 local[16];
	__be16 remote_port;
	__be16 local_port;
	__u32 family;
};

// Sent by another program: this many times, since its number was given. 0: there is none.
struct range {
	__u32 start;
	__u32 end;
	__u32 copies;
	__u32 number;
};

struct ranges {
	struct range each[RANGES];
};

// Only the host's program writes it.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct connection);
	__type(value, struct ranges);
} copies SEC(".maps");

struct hidden {
	__u32 number;
	__u32 reports;
};

struct seen {
	// The highest acknowledgement number and the last window, once there was an acknowledgement.
	__u32 ack;
	__u16 window;
	__u16 has_ack;
	// By place of the range.
	struct hidden each[RANGES];
};

// Only this program writes it.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct connection);
	__type(value, struct seen);
} arrived SEC(".maps");

// What walking the options finds. The verifier does not follow values in maps, so that each step has one state: it
// would follow all ways through the options otherwise.
struct scratch {
	// Where the next option begins.
	volatile __u32 next;
	// The SACK option: where it begins, and its blocks. 0: there is none.
	volatile __u32 sack;
	volatile __u32 blocks;
	// There are options whose segment must not be lost.
	volatile __u32 has_others;

	__u8 before[LONGEST_OPTIONS] __attribute__((aligned(8)));
	__u8 after[LONGEST_OPTIONS] __attribute__((aligned(8)));
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

// The order of src/duplicate_reports/tables.rs.
enum count {
	HIDDEN,
	DROPPED,
	NOT_UNDERSTOOD,
	COUNTS,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

struct tcp {
	__be16 source;
	__be16 destination;
	__be32 seq;
	__be32 ack;
	// Four bits of the length, and three reserved bits with AE.
	__u8 length;
	__u8 flags;
	__be16 window;
	__be16 checksum;
	__be16 urgent;
};

struct segment {
	struct connection connection;
	struct tcp tcp;
	// From the network header.
	__u32 tcp_at;
	__u32 options;
	__u32 payload;
};

static __always_inline void count(__u32 what)
{
	__u64 *value = bpf_map_lookup_elem(&counts, &what);

	if (value)
		*value += 1;
}

// Modulo 2^32 (RFC 9293 §3.4).
static __always_inline int before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

static __always_inline int read(const struct __sk_buff *skb, __u32 at, void *to, __u32 len)
{
	return bpf_skb_load_bytes_relative(skb, at, to, len, BPF_HDR_START_NET);
}

// Reads the headers, if it is TCP that is neither a fragment nor behind extension headers.
static __always_inline int headers(const struct __sk_buff *skb, struct segment *segment)
{
	__u8 ip[40] = {};
	__u32 length, header;

	if (skb->vlan_present)
		return -1;
	if (skb->protocol == __builtin_bswap16(ETH_P_IP)) {
		if (read(skb, 0, ip, 20) || ip[0] >> 4 != 4 || ip[9] != TCP)
			return -1;
		// More fragments, or an offset (RFC 791 §3.1).
		if (ip[6] & 0x3f || ip[7])
			return -1;
		segment->tcp_at = 4 * (ip[0] & 0x0f);
		length = ip[2] << 8 | ip[3];
		__builtin_memcpy(segment->connection.remote, ip + 12, 4);
		__builtin_memcpy(segment->connection.local, ip + 16, 4);
		segment->connection.family = AF_INET;
	} else if (skb->protocol == __builtin_bswap16(ETH_P_IPV6)) {
		if (read(skb, 0, ip, 40) || ip[0] >> 4 != 6 || ip[6] != TCP)
			return -1;
		segment->tcp_at = 40;
		length = 40 + (ip[4] << 8 | ip[5]);
		__builtin_memcpy(segment->connection.remote, ip + 8, 16);
		__builtin_memcpy(segment->connection.local, ip + 24, 16);
		segment->connection.family = AF_INET6;
	} else {
		return -1;
	}
	if (read(skb, segment->tcp_at, &segment->tcp, sizeof(segment->tcp)))
		return -1;
	segment->connection.remote_port = segment->tcp.source;
	segment->connection.local_port = segment->tcp.destination;
	header = 4 * (segment->tcp.length >> 4);
	if (header < sizeof(segment->tcp))
		return -1;
	segment->options = header - sizeof(segment->tcp);
	// Where receive offloads have merged segments, the length field may be 0: they have data.
	segment->payload = length == segment->tcp_at + header ? 0 : 1;
	return 0;
}

static __always_inline struct seen *seen_of(const struct connection *connection)
{
	struct seen *seen = bpf_map_lookup_elem(&arrived, connection);
	struct seen nothing = {};

	if (seen)
		return seen;
	bpf_map_update_elem(&arrived, connection, &nothing, BPF_NOEXIST);
	return bpf_map_lookup_elem(&arrived, connection);
}

// Walks the options. An error: a length is wrong.
static __always_inline int find(struct scratch *scratch, __u32 options)
{
	scratch->next = 0;
	scratch->blocks = 0;
	scratch->has_others = 0;
	for (__u32 at = 0; at < LONGEST_OPTIONS; at++) {
		__u32 kind, len;

		if (at >= options)
			break;
		if (at != scratch->next)
			continue;
		kind = scratch->before[at];
		if (kind == END_OF_OPTIONS)
			break;
		if (kind == NOP) {
			scratch->next = at + 1;
			continue;
		}
		if (at + 1 >= options || at + 1 >= LONGEST_OPTIONS)
			return -1;
		len = scratch->before[at + 1];
		if (len < 2 || at + len > options)
			return -1;
		scratch->next = at + len;
		if (kind == SACK && !scratch->blocks) {
			if (len < 2 + BLOCK || (len - 2) % BLOCK)
				return -1;
			scratch->sack = at;
			scratch->blocks = (len - 2) / BLOCK;
		} else if (kind != TIMESTAMPS) {
			scratch->has_others = 1;
		}
	}
	return 0;
}

static __always_inline __u32 number(const struct scratch *scratch, __u32 at)
{
	const __u8 *bytes;

	KEEP(at);
	if (at > LONGEST_OPTIONS - 4)
		return 0;
	bytes = scratch->before + at;
	return (__u32)bytes[0] << 24 | (__u32)bytes[1] << 16 | (__u32)bytes[2] << 8 | bytes[3];
}

// The first block reports a duplicate if it is below the acknowledgement number, or within the second block (RFC 2883
// §4).
static __always_inline int is_duplicate(const struct scratch *scratch, __u32 ack, __u32 *start, __u32 *end)
{
	__u32 at = scratch->sack + 2;

	*start = number(scratch, at);
	*end = number(scratch, at + 4);
	if (!before(*start, *end))
		return 0;
	if (!before(ack, *end))
		return 1;
	if (scratch->blocks < 2)
		return 0;
	at += BLOCK;
	return !before(*start, number(scratch, at)) && !before(number(scratch, at + 4), *end);
}

// Whether a report is one of another program's copies that is not yet hidden. It is taken to be hidden then.
static __always_inline int claim(const struct ranges *ranges, struct seen *seen, __u32 start, __u32 end)
{
	for (int i = 0; i < RANGES; i++) {
		const struct range *range = &ranges->each[i];
		struct hidden *hidden = &seen->each[i];

		if (!range->copies || before(start, range->start) || before(range->end, end))
			continue;
		if (hidden->number != range->number) {
			hidden->number = range->number;
			hidden->reports = 0;
		}
		if (hidden->reports >= range->copies)
			continue;
		__sync_fetch_and_add(&hidden->reports, 1);
		return 1;
	}
	return 0;
}

// Copies the options without the first block of SACK. NOPs fill its place after the option; without another block,
// there is no option.
static __always_inline void remove_block(struct scratch *scratch)
{
	__u32 sack = scratch->sack;
	__u32 left = scratch->blocks - 1;
	__u32 kept = left ? 2 + left * BLOCK : 0;
	__u32 len = 2 + BLOCK + left * BLOCK;

	__builtin_memcpy(scratch->after, scratch->before, LONGEST_OPTIONS);
	for (__u32 i = 0; i < LONGEST_OPTIONS; i++) {
		__u32 to = sack + i;
		__u8 byte = NOP;

		if (i >= len || to >= LONGEST_OPTIONS)
			break;
		if (i < kept) {
			__u32 from = to + BLOCK;

			if (i == 0)
				byte = SACK;
			else if (i == 1)
				byte = kept;
			else if (from < LONGEST_OPTIONS)
				byte = scratch->before[from];
		}
		scratch->after[to] = byte;
	}
}

// The place of the network header: after an Ethernet header, or first. Places are from the network header elsewhere,
// but the packet is written from its start.
static __always_inline int network_at(const struct __sk_buff *skb)
{
	__u32 header[5], there[5];

	if (read(skb, 0, header, sizeof(header)))
		return -1;
	if (!bpf_skb_load_bytes(skb, ETH_HLEN, there, sizeof(there)) && !__builtin_memcmp(header, there, sizeof(there)))
		return ETH_HLEN;
	if (!bpf_skb_load_bytes(skb, 0, there, sizeof(there)) && !__builtin_memcmp(header, there, sizeof(there)))
		return 0;
	return -1;
}

static __always_inline int write(struct __sk_buff *skb, const struct segment *segment, struct scratch *scratch)
{
	int network = network_at(skb);
	__u32 at, options = segment->options;
	__s64 difference;

	KEEP(options);
	if (network < 0 || options < 1 || options > LONGEST_OPTIONS)
		return -1;
	at = network + segment->tcp_at;
	difference = bpf_csum_diff((void *)scratch->before, LONGEST_OPTIONS,
				   (void *)scratch->after, LONGEST_OPTIONS, 0);
	// No flag: the sum over the whole packet (CHECKSUM_COMPLETE) stays, because the checksum field changes by as
	// much. And a checksum that is left to hardware (CHECKSUM_PARTIAL) has no options in it, which the kernel
	// knows.
	if (bpf_skb_store_bytes(skb, at + sizeof(struct tcp), scratch->after, options, 0))
		return -1;
	return bpf_l4_csum_replace(skb, at + __builtin_offsetof(struct tcp, checksum), 0, difference, 0);
}

SEC("classifier")
int duplicate_reports(struct __sk_buff *skb)
{
	struct segment segment = {};
	struct scratch *buffer;
	const struct ranges *ranges;
	struct seen *seen;
	__u32 first = 0, options, ack, start = 0, end = 0;
	int is_repeated;
	__u16 window;

	if (headers(skb, &segment))
		return TCX_NEXT;
	ranges = bpf_map_lookup_elem(&copies, &segment.connection);
	if (!ranges || !(segment.tcp.flags & ACK_ALONE))
		return TCX_NEXT;
	seen = seen_of(&segment.connection);
	buffer = bpf_map_lookup_elem(&scratch, &first);
	if (!seen || !buffer)
		return TCX_NEXT;
	ack = __builtin_bswap32(segment.tcp.ack);
	window = segment.tcp.window;
	is_repeated = seen->has_ack && !before(seen->ack, ack) && seen->window == window;
	if (!seen->has_ack || !before(ack, seen->ack)) {
		seen->ack = ack;
		seen->window = window;
		seen->has_ack = 1;
	}
	options = segment.options;
	if (!options)
		return TCX_NEXT;
	KEEP(options);
	__builtin_memset(buffer->before, 0, sizeof(buffer->before));
	if (options < 1 || options > LONGEST_OPTIONS ||
	    read(skb, segment.tcp_at + sizeof(struct tcp), buffer->before, options) || find(buffer, options)) {
		count(NOT_UNDERSTOOD);
		return TCX_NEXT;
	}
	if (!buffer->blocks || !is_duplicate(buffer, ack, &start, &end) || !claim(ranges, seen, start, end))
		return TCX_NEXT;
	// What is left would be a bare duplicate acknowledgement, which the kernel takes for a sign of a loss or of a
	// probe's fate. Other flags, reserved bits and unknown options have a meaning of their own.
	if (is_repeated && buffer->blocks == 1 && !buffer->has_others && !segment.payload &&
	    segment.tcp.flags == ACK_ALONE && !(segment.tcp.length & 0x0f)) {
		count(HIDDEN);
		count(DROPPED);
		return TCX_DROP;
	}
	remove_block(buffer);
	if (write(skb, &segment, buffer)) {
		count(NOT_UNDERSTOOD);
		return TCX_NEXT;
	}
	count(HIDDEN);
	return TCX_NEXT;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
