// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Takes TCP ports of the host's own addresses from the kernel: `to_stack` redirects what arrives for them into a TUN
// device, and `from_stack` sends what comes from that device out of the interface that the routes say.
// src/port_redirect.rs attaches both.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_helpers.h>

// linux/bpf.h of Linux 6.6: what follows is for the next program, and in the end for the kernel.
#define TCX_NEXT -1
#define TCX_DROP 2
// linux/socket.h, linux/in.h, linux/icmp.h, linux/icmpv6.h, linux/if_packet.h, linux/errno.h.
#define AF_INET 2
#define AF_INET6 10
#define ICMP 1
#define TCP 6
#define FRAGMENT 44
#define ICMPV6 58
#define DESTINATION_UNREACHABLE 3
#define ICMPV6_DESTINATION_UNREACHABLE 1
#define ICMPV6_PACKET_TOO_BIG 2
#define PACKET_HOST 0

// RFC 9293 §3.1.
#define FIN 0x01
#define SYN 0x02
#define RST 0x04
#define ACK 0x10

// Fragments of a packet are reassembled for so long (RFC 1122 §3.3.2: 60 s at least, RFC 8200 §4.5: 60 s).
#define FRAGMENT_LIFE (60ULL * 1000 * 1000 * 1000)

// IPv4: the first four bytes of addresses. Addresses and ports are in the order of the packet.
struct connection {
	__u8 remote[16];
	__u8 local[16];
	__be16 remote_port;
	__be16 local_port;
	__u32 family;
};

// A port of an address of this host.
struct place {
	__u8 address[16];
	__be16 port;
	__u16 family;
};

// The order of src/port_redirect/tables.rs.
enum port_state {
	// New connections come to the stack.
	OPEN = 1,
	// They do not, but connections that it has go on.
	DRAINING = 2,
};

// Only the host's program writes it.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct place);
	__type(value, __u32);
} ports SEC(".maps");

// A handshake that began. It is done when an acknowledgement has the number that answers the stack's SYN-ACK: so
// packets of another process's connection with the same ends are left alone, though somebody forged a SYN for it.
struct half_open {
	// The numbers that answer the last two SYN-ACKs, which differ if they are SYN cookies.
	__u32 acks[2];
	// How many of them there are; IN_PLACE if the handshake is done, but `connections` was full.
	__u32 answers;
	// The interface of the last packet.
	__u32 interface;
};

#define IN_PLACE 3

// Under a flood of SYNs, the oldest go.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 17);
	__type(key, struct connection);
	__type(value, struct half_open);
} half_open SEC(".maps");

#define PEER_FIN 1
#define OUR_FIN 2

struct state {
	// When the last packet arrived, by the clock CLOCK_MONOTONIC_COARSE.
	__u64 seen;
	__u32 interface;
	__u32 fins;
};

// No entry is lost in favour of another: connections would break.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 20);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct connection);
	__type(value, struct state);
} connections SEC(".maps");

struct ended {
	__u32 interface;
	__u32 by_reset;
};

// Both sides have sent a FIN, or the other a reset. Retransmissions and the rest of TIME-WAIT still belong to the stack.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 16);
	__type(key, struct connection);
	__type(value, struct ended);
} closed SEC(".maps");

struct fragmented {
	__u8 source[16];
	__u8 destination[16];
	__u32 id;
	__u32 family;
};

// Packets whose first fragment was redirected, and when.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct fragmented);
	__type(value, __u64);
} fragments SEC(".maps");

// The index of the TUN device.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} settings SEC(".maps");

// The order of src/port_redirect/tables.rs.
enum count {
	TO_STACK,
	FROM_STACK,
	WITHOUT_ROUTE,
	NOT_TAKEN,
	CROWDED,
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
	__u8 length;
	__u8 flags;
	__be16 window;
	__be16 checksum;
	__be16 urgent;
};

enum kind {
	// Neither TCP nor an error about it.
	OTHER,
	SEGMENT,
	// The connection is that of the packet which it quotes.
	ICMP_ERROR,
	LATER_FRAGMENT,
};

struct packet {
	enum kind kind;
	__u32 is_first_fragment;
	struct connection connection;
	struct fragmented fragmented;
	struct tcp tcp;
	// From the network header.
	__u32 payload_at;
	__u8 traffic_class;
};

static __always_inline void count(__u32 what)
{
	__u64 *value = bpf_map_lookup_elem(&counts, &what);

	if (value)
		*value += 1;
}

static __always_inline int read(const struct __sk_buff *skb, __u32 at, void *to, __u32 len)
{
	return bpf_skb_load_bytes_relative(skb, at, to, len, BPF_HDR_START_NET);
}

// The ends of a packet that is sent from `from` to `to`. `length`: of an address.
static __always_inline void ends(struct connection *connection, const __u8 *from, const __u8 *to, __u32 length,
				 int arrives)
{
	__builtin_memcpy(arrives ? connection->remote : connection->local, from, length);
	__builtin_memcpy(arrives ? connection->local : connection->remote, to, length);
	connection->family = length == 4 ? AF_INET : AF_INET6;
}

static __always_inline void end_ports(struct connection *connection, __be16 from, __be16 to, int arrives)
{
	connection->remote_port = arrives ? from : to;
	connection->local_port = arrives ? to : from;
}

// Whether an ICMP message after the network header is an error about a TCP segment of this host.
static __always_inline int quoted(const struct __sk_buff *skb, struct packet *packet)
{
	struct connection *connection = &packet->connection;
	__u32 at = packet->payload_at + 8;
	__u8 local[16], ip[40];
	__be16 ports[2];
	__u8 type;

	if (read(skb, packet->payload_at, &type, 1))
		return 0;
	__builtin_memcpy(local, connection->local, sizeof(local));
	if (connection->family == AF_INET) {
		if (type != DESTINATION_UNREACHABLE || read(skb, at, ip, 20) || ip[0] >> 4 != 4 || ip[9] != TCP)
			return 0;
		// A later fragment has no ports.
		if (ip[6] & 0x1f || ip[7])
			return 0;
		at += 4 * (ip[0] & 0x0f);
		ends(connection, ip + 12, ip + 16, 4, 0);
	} else {
		if (type != ICMPV6_DESTINATION_UNREACHABLE && type != ICMPV6_PACKET_TOO_BIG)
			return 0;
		if (read(skb, at, ip, 40) || ip[0] >> 4 != 6 || ip[6] != TCP)
			return 0;
		at += 40;
		ends(connection, ip + 8, ip + 24, 16, 0);
	}
	if (read(skb, at, ports, sizeof(ports)))
		return 0;
	end_ports(connection, ports[0], ports[1], 0);
	return !__builtin_memcmp(local, connection->local, sizeof(local));
}

// Reads the headers. `arrives`: the packet comes from the network.
static __always_inline void parse(const struct __sk_buff *skb, struct packet *packet, int arrives)
{
	struct connection *connection = &packet->connection;
	__u8 ip[40] = {}, protocol;
	__u32 fragment = 0, offset = 0;

	packet->kind = OTHER;
	if (skb->protocol == __builtin_bswap16(ETH_P_IP)) {
		if (read(skb, 0, ip, 20) || ip[0] >> 4 != 4)
			return;
		packet->payload_at = 4 * (ip[0] & 0x0f);
		packet->traffic_class = ip[1];
		protocol = ip[9];
		ends(connection, ip + 12, ip + 16, 4, arrives);
		// More fragments, and the offset (RFC 791 §3.1).
		fragment = (ip[6] & 0x3f) << 8 | ip[7];
		offset = fragment & 0x1fff;
		packet->fragmented.id = ip[4] << 8 | ip[5];
	} else if (skb->protocol == __builtin_bswap16(ETH_P_IPV6)) {
		if (read(skb, 0, ip, 40) || ip[0] >> 4 != 6)
			return;
		packet->payload_at = 40;
		packet->traffic_class = (ip[0] & 0x0f) << 4 | ip[1] >> 4;
		protocol = ip[6];
		ends(connection, ip + 8, ip + 24, 16, arrives);
		if (protocol == FRAGMENT) {
			__u8 header[8];

			// RFC 8200 §4.5.
			if (read(skb, 40, header, sizeof(header)))
				return;
			packet->payload_at = 48;
			protocol = header[0];
			offset = (header[2] << 8 | header[3]) & 0xfff8;
			fragment = offset | (header[3] & 1);
			__builtin_memcpy(&packet->fragmented.id, header + 4, 4);
		}
	} else {
		return;
	}
	if (fragment) {
		__builtin_memcpy(packet->fragmented.source, connection->remote, 16);
		__builtin_memcpy(packet->fragmented.destination, connection->local, 16);
		packet->fragmented.family = connection->family;
		packet->is_first_fragment = !offset;
	}
	if (protocol == TCP) {
		if (offset) {
			packet->kind = LATER_FRAGMENT;
			return;
		}
		if (read(skb, packet->payload_at, &packet->tcp, sizeof(packet->tcp)))
			return;
		end_ports(connection, packet->tcp.source, packet->tcp.destination, arrives);
		packet->kind = SEGMENT;
	} else if (arrives && !fragment && protocol == (connection->family == AF_INET ? ICMP : ICMPV6)) {
		if (quoted(skb, packet))
			packet->kind = ICMP_ERROR;
	}
}

static __always_inline __u32 port_state(const struct connection *connection)
{
	struct place place = { .port = connection->local_port, .family = connection->family };
	__u32 *state;

	__builtin_memcpy(place.address, connection->local, sizeof(place.address));
	state = bpf_map_lookup_elem(&ports, &place);
	return state ? *state : 0;
}

// A handshake is done, or a reset was forged.
static __always_inline void promote(const struct connection *connection, struct half_open *half, __u32 interface)
{
	struct state state = { .seen = bpf_ktime_get_coarse_ns(), .interface = interface };

	if (bpf_map_update_elem(&connections, connection, &state, BPF_ANY)) {
		count(CROWDED);
		half->interface = interface;
		half->answers = IN_PLACE;
		return;
	}
	bpf_map_delete_elem(&half_open, connection);
	bpf_map_delete_elem(&closed, connection);
}

static __always_inline void close(const struct connection *connection, const struct state *state, __u32 by_reset)
{
	struct ended ended = { .interface = state->interface, .by_reset = by_reset };

	if (!bpf_map_update_elem(&closed, connection, &ended, BPF_ANY))
		bpf_map_delete_elem(&connections, connection);
}

// Whether a SYN that arrives is for the stack.
static __always_inline int takes_syn(const struct connection *connection, __u32 port, __u32 interface)
{
	struct half_open *half = bpf_map_lookup_elem(&half_open, connection);
	struct half_open begun = { .interface = interface };

	if (half) {
		half->interface = interface;
		return 1;
	}
	if (port == DRAINING) {
		// The next process or the kernel has the ends from now on, if they were those of a connection that is
		// over.
		bpf_map_delete_elem(&closed, connection);
		return !!bpf_map_lookup_elem(&connections, connection);
	}
	// It fails if all entries are in use at this moment. The answer makes an entry then.
	bpf_map_update_elem(&half_open, connection, &begun, BPF_NOEXIST);
	return 1;
}

// Whether another segment that arrives is for the stack.
static __always_inline int takes_segment(const struct connection *connection, const struct tcp *tcp, __u32 interface)
{
	struct state *state = bpf_map_lookup_elem(&connections, connection);
	struct half_open *half = state ? 0 : bpf_map_lookup_elem(&half_open, connection);
	struct ended *ended;
	__u32 ack = __builtin_bswap32(tcp->ack);

	// Another processor may have promoted it between the two, with the segment before or after this one.
	if (!state && !half)
		state = bpf_map_lookup_elem(&connections, connection);
	if (state) {
		__u64 now = bpf_ktime_get_coarse_ns();

		// Not always written, so that processors need not pass it on to each other.
		if (state->seen != now)
			state->seen = now;
		if (state->interface != interface)
			state->interface = interface;
		if (tcp->flags & RST) {
			close(connection, state, 1);
		} else if (tcp->flags & FIN && !(state->fins & PEER_FIN)) {
			__sync_fetch_and_or(&state->fins, PEER_FIN);
			if (state->fins & OUR_FIN)
				close(connection, state, 0);
		}
		return 1;
	}
	if (half) {
		if (half->answers == IN_PLACE || tcp->flags & RST)
			return 1;
		if (tcp->flags & ACK && half->answers &&
		    (ack == half->acks[0] || (half->answers > 1 && ack == half->acks[1]))) {
			promote(connection, half, interface);
			return 1;
		}
	}
	ended = bpf_map_lookup_elem(&closed, connection);
	if (!ended)
		return 0;
	// Whoever sent a reset sends nothing more: somebody else forged it.
	if (ended->by_reset && !(tcp->flags & RST)) {
		struct half_open none = {};

		promote(connection, &none, interface);
	}
	return 1;
}

static __always_inline int has(const struct connection *connection)
{
	return bpf_map_lookup_elem(&half_open, connection) || bpf_map_lookup_elem(&connections, connection) ||
	       bpf_map_lookup_elem(&closed, connection);
}

static __always_inline int takes(const struct __sk_buff *skb, struct packet *packet)
{
	const struct connection *connection = &packet->connection;
	__u32 port;

	if (packet->kind == OTHER)
		return 0;
	if (packet->kind == LATER_FRAGMENT) {
		__u64 *at = bpf_map_lookup_elem(&fragments, &packet->fragmented);

		return at && bpf_ktime_get_coarse_ns() - *at < FRAGMENT_LIFE;
	}
	port = port_state(connection);
	if (!port)
		return 0;
	if (packet->kind == ICMP_ERROR)
		return has(connection);
	if ((packet->tcp.flags & (SYN | ACK | RST)) == SYN)
		return takes_syn(connection, port, skb->ifindex);
	return takes_segment(connection, &packet->tcp, skb->ifindex);
}

SEC("classifier")
int to_stack(struct __sk_buff *skb)
{
	struct packet packet = {};
	__u32 first = 0, *tun;

	// A tagged frame is for an interface of its own. A frame for another host was merely overheard.
	if (skb->vlan_present || skb->pkt_type != PACKET_HOST)
		return TCX_NEXT;
	parse(skb, &packet, 1);
	if (!takes(skb, &packet))
		return TCX_NEXT;
	tun = bpf_map_lookup_elem(&settings, &first);
	if (!tun)
		return TCX_NEXT;
	if (packet.is_first_fragment) {
		__u64 now = bpf_ktime_get_coarse_ns();

		bpf_map_update_elem(&fragments, &packet.fragmented, &now, BPF_ANY);
	}
	count(TO_STACK);
	return bpf_redirect(*tun, 0);
}

// The stack answers a SYN. Its entry may be gone in a flood of SYNs.
static __always_inline void answers(const struct connection *connection, __u32 ack)
{
	struct half_open *half = bpf_map_lookup_elem(&half_open, connection);
	struct half_open answered = { .acks = { ack }, .answers = 1 };
	struct state *state = bpf_map_lookup_elem(&connections, connection);

	// The ends are those of a new connection.
	if (state)
		state->fins = 0;
	if (!half) {
		bpf_map_update_elem(&half_open, connection, &answered, BPF_ANY);
	} else if (!half->answers || half->acks[0] != ack) {
		half->acks[1] = half->acks[0];
		half->acks[0] = ack;
		half->answers = half->answers ? 2 : 1;
	}
}

// The stack begins a connection.
static __always_inline void begins(const struct connection *connection)
{
	struct half_open begun = {};

	promote(connection, &begun, 0);
	if (begun.answers == IN_PLACE)
		bpf_map_update_elem(&half_open, connection, &begun, BPF_ANY);
}

// The stack sends a segment.
static __always_inline void sends(const struct connection *connection, const struct tcp *tcp)
{
	__u8 flags = tcp->flags;

	if (flags & RST) {
		bpf_map_delete_elem(&connections, connection);
		bpf_map_delete_elem(&half_open, connection);
		bpf_map_delete_elem(&closed, connection);
	} else if ((flags & (SYN | ACK)) == (SYN | ACK)) {
		answers(connection, __builtin_bswap32(tcp->seq) + 1);
	} else if (flags & SYN) {
		begins(connection);
	} else if (flags & FIN) {
		struct state *state = bpf_map_lookup_elem(&connections, connection);

		if (!state)
			return;
		__sync_fetch_and_or(&state->fins, OUR_FIN);
		if (state->fins & PEER_FIN)
			close(connection, state, 0);
	}
}

// The interface at which the connection's last packet arrived. 0: none is known.
static __always_inline __u32 interface_of(const struct connection *connection)
{
	struct state *state = bpf_map_lookup_elem(&connections, connection);
	struct half_open *half;
	struct ended *ended;

	if (state)
		return state->interface;
	half = bpf_map_lookup_elem(&half_open, connection);
	if (half)
		return half->interface;
	ended = bpf_map_lookup_elem(&closed, connection);
	return ended ? ended->interface : 0;
}

// Finds the next hop as the kernel does for a packet that it forwards. The result is one of BPF_FIB_LKUP_RET_.
static __always_inline long route(struct __sk_buff *skb, const struct packet *packet, struct bpf_fib_lookup *fib,
				  struct bpf_redir_neigh *hop)
{
	const struct connection *connection = &packet->connection;
	long found;

	fib->family = connection->family;
	fib->l4_protocol = TCP;
	fib->sport = connection->local_port;
	fib->dport = connection->remote_port;
	// The TUN device, which forwards.
	fib->ifindex = skb->ifindex;
	if (connection->family == AF_INET) {
		fib->tos = packet->traffic_class;
		__builtin_memcpy(&fib->ipv4_src, connection->local, 4);
		__builtin_memcpy(&fib->ipv4_dst, connection->remote, 4);
	} else {
		// Link-local addresses (RFC 4291 §2.5.6) are known with their interface alone.
		if (connection->remote[0] == 0xfe && (connection->remote[1] & 0xc0) == 0x80)
			return BPF_FIB_LKUP_RET_FWD_DISABLED;
		fib->flowinfo = __builtin_bswap32((__u32)packet->traffic_class << 20);
		__builtin_memcpy(fib->ipv6_src, connection->local, 16);
		__builtin_memcpy(fib->ipv6_dst, connection->remote, 16);
	}
	// Neighbours are asked for by bpf_redirect_neigh.
	found = bpf_fib_lookup(skb, fib, sizeof(*fib), BPF_FIB_LOOKUP_SKIP_NEIGH);
	// The next hop of IPv4 may have an address of IPv6 (RFC 5549).
	hop->nh_family = fib->family;
	if (fib->family == AF_INET)
		__builtin_memcpy(&hop->ipv4_nh, &fib->ipv4_dst, 4);
	else
		__builtin_memcpy(hop->ipv6_nh, fib->ipv6_dst, 16);
	return found;
}

SEC("classifier")
int from_stack(struct __sk_buff *skb)
{
	struct packet packet = {};
	struct bpf_fib_lookup fib = {};
	struct bpf_redir_neigh hop = {};
	__u32 interface = 0;
	long found;

	parse(skb, &packet, 0);
	if (packet.kind != SEGMENT || !port_state(&packet.connection)) {
		count(NOT_TAKEN);
		return TCX_DROP;
	}
	// Before the table may forget it.
	found = route(skb, &packet, &fib, &hop);
	if (found == BPF_FIB_LKUP_RET_FWD_DISABLED)
		interface = interface_of(&packet.connection);
	sends(&packet.connection, &packet.tcp);
	// bpf_redirect_neigh wants an Ethernet header, which it takes off.
	if ((found && !interface) || bpf_skb_change_head(skb, ETH_HLEN, 0)) {
		count(WITHOUT_ROUTE);
		return TCX_DROP;
	}
	count(FROM_STACK);
	if (interface)
		return bpf_redirect_neigh(interface, 0, 0, 0);
	return bpf_redirect_neigh(fib.ifindex, &hop, sizeof(hop), 0);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
