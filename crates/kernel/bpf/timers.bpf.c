// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Sets timers of new connections by the address of the other host. src/timers.rs attaches it to a cgroup, fills its
// tables and says what the kernel makes of it.

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

// linux/socket.h, linux/tcp.h, linux/errno.h.
#define AF_INET 2
#define AF_INET6 10
#define SOL_TCP 6
#define TCP_SYNCNT 7

// The longest TCP_SYNCNT (include/net/tcp.h: MAX_TCP_SYNCNT) is 127.
#define RETRIES 128

// IPv4: the first four bytes. The family is part of the prefix, so that ::/0 has no IPv4 in it.
struct network {
	__u32 bits;
	__u32 family;
	__be32 address[4];
};

// 0: the kernel's own.
struct timers {
	// Ticks.
	__u32 syn;
	__u32 syn_ack;
	// Microseconds.
	__u32 least_rto;
	__u32 most_ack_delay;
	// By TCP_SYNCNT of a socket: the one with which connect() gives up no sooner than the socket does by itself.
	__u8 syn_retries[RETRIES];
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct network);
	__type(value, struct timers);
} networks SEC(".maps");

struct settings {
	// net.ipv4.tcp_syn_retries, for kernels whose TCP_SYNCNT cannot be read here (before Linux 6.0).
	__u32 syn_retries;
	// The shortest SYN-ACK timer of all networks, in ticks. 0: there is none.
	__u32 syn_ack;
	// By TCP_SYNCNT of a listener: the one with which half-open connections live no shorter.
	__u8 syn_ack_retries[RETRIES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct settings);
} settings SEC(".maps");

struct listener {
	__u64 namespace;
	__u64 port;
};

// The shortest SYN-ACK timer, in ticks, for which a listener retransmits often enough.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct listener);
	__type(value, __u32);
} listeners SEC(".maps");

// The kernel asks for the SYN timer after each timeout. It must not change then: the number of retransmissions was
// chosen for it.
struct connecting {
	// The SYN timer, in ticks. 0: the kernel's own.
	__u32 syn;
	// The socket's TCP_SYNCNT, and the one in its place.
	__u32 retries;
	__u32 retries_now;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct connecting);
} sockets SEC(".maps");

// The order of src/timers/tables.rs.
enum count {
	ACTIVE,
	PASSIVE,
	LISTENERS,
	SYN,
	SYN_ACK,
	REFUSED,
	COUNTS,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

static __always_inline void count(__u32 what)
{
	__u64 *value = bpf_map_lookup_elem(&counts, &what);

	if (value)
		*value += 1;
}

static __always_inline int set(struct bpf_sock_ops *ops, int option, int value)
{
	int error = bpf_setsockopt(ops, SOL_TCP, option, &value, sizeof(value));

	if (error)
		count(REFUSED);
	return error;
}

// Sets a limit in microseconds, unless a lower one is known to be set. Kernels before Linux 6.15 do not say.
static __always_inline void lower(struct bpf_sock_ops *ops, int option, __u32 limit)
{
	int now;

	if (!limit)
		return;
	if (!bpf_getsockopt(ops, SOL_TCP, option, &now, sizeof(now)) && now > 0 && (__u32)now <= limit)
		return;
	set(ops, option, limit);
}

static __always_inline struct timers *find(struct bpf_sock_ops *ops)
{
	struct network network = {};

	network.family = ops->family;
	network.bits = 8 * (sizeof(network) - sizeof(network.bits));
	if (network.family == AF_INET) {
		network.address[0] = ops->remote_ip4;
	} else if (network.family == AF_INET6) {
		network.address[0] = ops->remote_ip6[0];
		network.address[1] = ops->remote_ip6[1];
		network.address[2] = ops->remote_ip6[2];
		network.address[3] = ops->remote_ip6[3];
		// An IPv6 socket with an IPv4 connection (RFC 4291 §2.5.5.2).
		if (!network.address[0] && !network.address[1] && network.address[2] == __builtin_bswap32(0xffff)) {
			network.family = AF_INET;
			network.address[0] = network.address[3];
			network.address[2] = 0;
			network.address[3] = 0;
		}
	} else {
		return NULL;
	}
	return bpf_map_lookup_elem(&networks, &network);
}

static __always_inline struct listener listener_of(struct bpf_sock_ops *ops)
{
	struct listener listener = { bpf_get_netns_cookie(ops), ops->local_port };

	return listener;
}

// The socket's TCP_SYNCNT, which is tcp_syn_retries unless the program has set it.
static __always_inline __u32 retries(struct bpf_sock_ops *ops, __u32 usual)
{
	int now;

	if (bpf_getsockopt(ops, SOL_TCP, TCP_SYNCNT, &now, sizeof(now)))
		now = usual;
	return now & (RETRIES - 1);
}

static __always_inline void listen(struct bpf_sock_ops *ops, const struct settings *settings)
{
	struct listener listener = listener_of(ops);
	__u32 shortest = settings->syn_ack;

	if (!shortest || set(ops, TCP_SYNCNT, settings->syn_ack_retries[retries(ops, settings->syn_retries)]))
		return;
	count(LISTENERS);
	bpf_map_update_elem(&listeners, &listener, &shortest, BPF_ANY);
}

// Another program of the cgroup, or of one above it, may have asked for less.
static __always_inline void reply(struct bpf_sock_ops *ops, __u32 ticks)
{
	int other = ops->reply;

	if (other <= 0 || (__u32)other > ticks)
		ops->reply = ticks;
}

static __always_inline void syn_timer(struct bpf_sock_ops *ops)
{
	struct bpf_sock *socket = ops->sk;
	const struct connecting *connecting;

	if (!socket)
		return;
	connecting = bpf_sk_storage_get(&sockets, socket, NULL, 0);
	if (connecting && connecting->syn)
		reply(ops, connecting->syn);
}

// Of a connection request, or of a connection that TCP Fast Open has opened before the SYN-ACK is acknowledged.
static __always_inline void syn_ack_timer(struct bpf_sock_ops *ops)
{
	const struct timers *timers = find(ops);
	struct listener listener;
	__u32 *known;

	if (!timers || !timers->syn_ack)
		return;
	listener = listener_of(ops);
	known = bpf_map_lookup_elem(&listeners, &listener);
	if (!known || *known > timers->syn_ack)
		return;
	count(SYN_ACK);
	reply(ops, timers->syn_ack);
}

static __always_inline void connect(struct bpf_sock_ops *ops, __u32 syn, const __u8 *syn_retries, __u32 usual)
{
	struct bpf_sock *socket = ops->sk;
	struct connecting *connecting;
	__u32 now = retries(ops, usual);

	if (!socket)
		return;
	connecting = bpf_sk_storage_get(&sockets, socket, NULL, syn ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (!connecting)
		return;
	// A socket may connect again after it failed.
	if (!connecting->retries || now != connecting->retries_now)
		connecting->retries = now;
	connecting->syn = 0;
	connecting->retries_now = connecting->retries;
	if (syn)
		connecting->retries_now = syn_retries[connecting->retries & (RETRIES - 1)];
	if (!set(ops, TCP_SYNCNT, connecting->retries_now) && syn) {
		connecting->syn = syn;
		count(SYN);
	}
}

static __always_inline void set_limits(struct bpf_sock_ops *ops, const struct timers *timers)
{
	lower(ops, TCP_BPF_RTO_MIN, timers->least_rto);
	lower(ops, TCP_BPF_DELACK_MAX, timers->most_ack_delay);
}

SEC("sockops")
int timers(struct bpf_sock_ops *ops)
{
	__u32 first = 0;
	const struct settings *current = bpf_map_lookup_elem(&settings, &first);
	const struct timers *timers;

	if (!current)
		return 1;
	switch (ops->op) {
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
		listen(ops, current);
		break;
	case BPF_SOCK_OPS_TIMEOUT_INIT:
		if (ops->is_fullsock && ops->state == BPF_TCP_SYN_SENT)
			syn_timer(ops);
		else
			syn_ack_timer(ops);
		break;
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
		timers = find(ops);
		if (!timers) {
			connect(ops, 0, NULL, current->syn_retries);
			break;
		}
		count(ACTIVE);
		connect(ops, timers->syn, timers->syn_retries, current->syn_retries);
		// The SYN's round-trip time already makes an RTO.
		set_limits(ops, timers);
		break;
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		timers = find(ops);
		if (!timers)
			break;
		count(PASSIVE);
		set_limits(ops, timers);
		break;
	}
	return 1;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
