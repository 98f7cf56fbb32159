// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Notes the connections that sockets of a cgroup begin, before their first packet leaves. src/sockets.rs attaches it and
// reads the notes. It replies nothing, so the kernel's timeouts and those of other programs stay as they are.

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

// linux/socket.h.
#define AF_INET 2
#define AF_INET6 10

// IPv4: the first four bytes of addresses. Addresses and ports are in the order of a packet.
struct connection {
	__be32 remote[4];
	__be32 local[4];
	__be16 remote_port;
	__be16 local_port;
	__u32 family;
	// The cookie of the network namespace: others may have the same addresses.
	__u64 namespace;
};

// When each began, in nanoseconds of CLOCK_MONOTONIC.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct connection);
	__type(value, __u64);
} begun SEC(".maps");

// An IPv6 socket with an IPv4 connection (RFC 4291 §2.5.5.2).
static __always_inline int is_mapped(const __be32 *address)
{
	return !address[0] && !address[1] && address[2] == __builtin_bswap32(0xffff);
}

static __always_inline void make_v4(__be32 *address)
{
	address[0] = address[3];
	address[2] = 0;
	address[3] = 0;
}

static __always_inline void note(struct bpf_sock_ops *ops)
{
	struct connection connection = {};
	__u64 now = bpf_ktime_get_ns();

	connection.family = ops->family;
	connection.namespace = bpf_get_netns_cookie(ops);
	// linux/bpf.h: the remote port is in the order of a packet, the local port in that of the host.
	connection.remote_port = ops->remote_port >> 16;
	connection.local_port = __builtin_bswap16(ops->local_port);
	if (connection.family == AF_INET) {
		connection.remote[0] = ops->remote_ip4;
		connection.local[0] = ops->local_ip4;
	} else if (connection.family == AF_INET6) {
		connection.remote[0] = ops->remote_ip6[0];
		connection.remote[1] = ops->remote_ip6[1];
		connection.remote[2] = ops->remote_ip6[2];
		connection.remote[3] = ops->remote_ip6[3];
		connection.local[0] = ops->local_ip6[0];
		connection.local[1] = ops->local_ip6[1];
		connection.local[2] = ops->local_ip6[2];
		connection.local[3] = ops->local_ip6[3];
		if (is_mapped(connection.remote) && is_mapped(connection.local)) {
			connection.family = AF_INET;
			make_v4(connection.remote);
			make_v4(connection.local);
		}
	} else {
		return;
	}
	bpf_map_update_elem(&begun, &connection, &now, BPF_ANY);
}

SEC("sockops")
int sockets(struct bpf_sock_ops *ops)
{
	switch (ops->op) {
	case BPF_SOCK_OPS_TIMEOUT_INIT:
		// A connection request, whose SYN-ACK is about to be sent. A socket asks again at each timeout of its SYN.
		if (!ops->is_fullsock)
			note(ops);
		break;
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
	// SYN cookies and TCP Fast Open make no connection request.
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		note(ops);
		break;
	}
	return 1;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
