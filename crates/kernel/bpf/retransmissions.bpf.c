// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reports each retransmission of the kernel's TCP, with the state that shows why it was sent (net/ipv4/tcp_output.c,
// net/ipv4/tcp_timer.c). src/retransmissions/record.rs reads the records, and src/retransmissions/reason.rs the state.
//
// The structures name only the fields that are read. The loader takes their places from the running kernel's BTF.

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define FIELDS_BY_NAME __attribute__((preserve_access_index))

// linux/socket.h
#define AF_INET6 10
// include/net/tcp.h: TCPCB_LOST, in the field `sacked`.
#define MARKED_LOST 0x04
// include/net/inet_connection_sock.h: icsk_pending of no timer.
#define NO_TIMER 0
// linux/tcp.h: TCP_CA_Loss.
#define STATE_LOSS 4

struct in6_addr {
	__u8 bytes[16];
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} FIELDS_BY_NAME;

struct timer_list {
	unsigned long expires;
} FIELDS_BY_NAME;

struct sock {
	struct sock_common __sk_common;
	// In later kernels, in place of icsk_retransmit_timer.
	struct timer_list tcp_retransmit_timer;
} FIELDS_BY_NAME;

struct inet_connection_sock {
	struct timer_list icsk_retransmit_timer;
	__u8 icsk_ca_state : 5;
	__u8 icsk_pending;
} FIELDS_BY_NAME;

struct tcp_sock {
	__u32 high_seq;
	__u32 undo_marker;
} FIELDS_BY_NAME;

struct tcp_skb_cb {
	__u32 seq;
	__u32 end_seq;
	// 16 bits in later kernels; the low ones come first.
	__u8 tcp_flags;
	__u8 sacked;
} FIELDS_BY_NAME;

struct sk_buff {
	char cb[48];
} FIELDS_BY_NAME;

struct request_sock {
	struct sock_common __req_common;
} FIELDS_BY_NAME;

struct tcp_request_sock {
	__u32 snt_isn;
} FIELDS_BY_NAME;

// A retransmission. It has no holes, and record.rs reads it byte by byte.
struct record {
	// Nanoseconds of CLOCK_BOOTTIME, just after the packet was passed on.
	__u64 at;
	// IPv4: the first four bytes.
	__u8 local[16];
	__u8 remote[16];
	__u32 seq;
	__u32 end_seq;
	// 0, or why the packet could not be passed on: an error number, negative.
	__s32 error;
	__u16 local_port;
	__u16 remote_port;
	__u8 is_ipv6;
	__u8 tcp_flags;
	__u8 ca_state;
	__u8 pending;
	__u8 marked_lost;
	__u8 timer_expired;
	// The congestion state began with a retransmission timeout.
	__u8 after_timeout;
	__u8 can_undo;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} records SEC(".maps");

// Records for which the ring had no room.
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

// By socket: high_seq as its last retransmission timeout set it.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u32);
} timeouts SEC(".maps");

static __always_inline struct record *begin(const struct sock_common *ends)
{
	struct record *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);

	if (!record) {
		__u32 first = 0;
		__u64 *count = bpf_map_lookup_elem(&lost, &first);

		if (count)
			*count += 1;
		return NULL;
	}
	__builtin_memset(record, 0, sizeof(*record));
	record->at = bpf_ktime_get_boot_ns();
	record->local_port = BPF_CORE_READ(ends, skc_num);
	record->remote_port = __builtin_bswap16(BPF_CORE_READ(ends, skc_dport));
	record->is_ipv6 = BPF_CORE_READ(ends, skc_family) == AF_INET6;
	// A kernel without IPv6 has no such fields.
	if (record->is_ipv6 && bpf_core_field_exists(ends->skc_v6_daddr)) {
		bpf_core_read(record->local, sizeof(record->local), &ends->skc_v6_rcv_saddr);
		bpf_core_read(record->remote, sizeof(record->remote), &ends->skc_v6_daddr);
	} else {
		bpf_core_read(record->local, sizeof(ends->skc_rcv_saddr), &ends->skc_rcv_saddr);
		bpf_core_read(record->remote, sizeof(ends->skc_daddr), &ends->skc_daddr);
	}
	return record;
}

static __always_inline unsigned long expiry(const struct sock *sk, const struct inet_connection_sock *icsk)
{
	if (bpf_core_field_exists(icsk->icsk_retransmit_timer))
		return BPF_CORE_READ(icsk, icsk_retransmit_timer.expires);
	if (bpf_core_field_exists(sk->tcp_retransmit_timer))
		return BPF_CORE_READ(sk, tcp_retransmit_timer.expires);
	return ~0UL >> 1;
}

static __noinline int retransmission(const struct sock *sk, const struct sk_buff *skb, int error)
{
	const struct inet_connection_sock *icsk = (const void *)sk;
	const struct tcp_sock *tp = (const void *)sk;
	const struct tcp_skb_cb *cb = (const void *)skb->cb;
	struct record *record = begin(&sk->__sk_common);
	__u64 key = (__u64)sk;
	__u32 high_seq = BPF_CORE_READ(tp, high_seq);
	__u32 *began;

	if (!record)
		return 0;
	record->error = error;
	record->seq = BPF_CORE_READ(cb, seq);
	record->end_seq = BPF_CORE_READ(cb, end_seq);
	record->tcp_flags = BPF_CORE_READ(cb, tcp_flags);
	record->marked_lost = (BPF_CORE_READ(cb, sacked) & MARKED_LOST) != 0;
	record->ca_state = BPF_CORE_READ_BITFIELD_PROBED(icsk, icsk_ca_state);
	record->pending = BPF_CORE_READ(icsk, icsk_pending);
	record->timer_expired = (long)(bpf_jiffies64() - expiry(sk, icsk)) >= 0;
	record->can_undo = BPF_CORE_READ(tp, undo_marker) != 0;
	if (record->ca_state == STATE_LOSS && record->pending == NO_TIMER) {
		bpf_map_update_elem(&timeouts, &key, &high_seq, BPF_ANY);
		record->after_timeout = 1;
	} else {
		began = bpf_map_lookup_elem(&timeouts, &key);
		record->after_timeout = began && *began == high_seq;
	}
	bpf_ringbuf_submit(record, 0);
	return 0;
}

// In later kernels the tracepoint says whether the packet could be passed on, and reports those that could not.
SEC("tp_btf/tcp_retransmit_skb")
int segment_or_error(__u64 *args)
{
	return retransmission((const void *)args[0], (const void *)args[1], (int)args[2]);
}

SEC("tp_btf/tcp_retransmit_skb")
int segment(__u64 *args)
{
	return retransmission((const void *)args[0], (const void *)args[1], 0);
}

SEC("tp_btf/tcp_retransmit_synack")
int syn_ack(__u64 *args)
{
	const struct request_sock *request = (const void *)args[1];
	const struct tcp_request_sock *tcp = (const void *)request;
	struct record *record = begin(&request->__req_common);

	if (!record)
		return 0;
	record->seq = BPF_CORE_READ(tcp, snt_isn);
	record->end_seq = record->seq + 1;
	// SYN and ACK (RFC 9293 §3.1).
	record->tcp_flags = 0x12;
	bpf_ringbuf_submit(record, 0);
	return 0;
}

// The helpers that read the kernel's memory are for programs with a licence like the kernel's.
char LICENSE[] SEC("license") = "Dual MIT/GPL";
