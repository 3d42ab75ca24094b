use super::*;
use proptest::prelude::*;

const LARGEST: Largest = Largest { send_bytes: 1 << 20, receive_bytes: 1 << 20, packets: 256 };

fn socket() -> Pending {
    Pending {
        send_bytes: 0,
        receive_bytes: 64 << 10,
        packets: 0,
        segment: 1 << 10,
        max_send_bytes: 64 << 10,
        max_receive_bytes: 64 << 10,
        max_packets: 64,
    }
}

#[test]
fn each_term_is_in_packets_of_the_largest_buffer() {
    assert_eq!(socket().weight(&LARGEST), 1, "nothing to do: the least");
    // A quarter of its send buffer of 64 segments, as if it had 1024.
    let sends = Pending { send_bytes: 16 << 10, ..socket() };
    assert_eq!(sends.weight(&LARGEST), 256);
    // Half of its receive buffer is free.
    let responsive = Pending { receive_bytes: 32 << 10, ..socket() };
    assert_eq!(responsive.weight(&LARGEST), 512);
    // 8 of 64 packets, as if of 256.
    let received = Pending { packets: 8, ..socket() };
    assert_eq!(received.weight(&LARGEST), 32);
    let all = Pending { send_bytes: 16 << 10, receive_bytes: 32 << 10, packets: 8, ..socket() };
    assert_eq!(all.weight(&LARGEST), 256 + 512 + 32);
}

#[test]
fn a_large_buffer_of_its_own_gets_a_socket_no_further() {
    let small = Pending { receive_bytes: 0, ..socket() };
    let large = Pending { max_receive_bytes: 1 << 20, ..small };
    assert_eq!(small.weight(&LARGEST), large.weight(&LARGEST));
}

#[test]
fn who_does_not_read_is_less_urgent_than_who_waits_to_send() {
    let unresponsive = Pending { receive_bytes: 60 << 10, packets: 4, ..socket() };
    let sending = Pending { receive_bytes: 60 << 10, send_bytes: 60 << 10, packets: 4, ..socket() };
    assert!(unresponsive.weight(&LARGEST) * 4 < sending.weight(&LARGEST));
}

#[test]
fn a_begun_segment_counts() {
    let byte = Pending { send_bytes: 1, max_send_bytes: 1 << 20, ..socket() };
    assert_eq!(byte.weight(&LARGEST), 1);
    let two = Pending { send_bytes: (1 << 10) + 1, max_send_bytes: 1 << 20, ..socket() };
    assert_eq!(two.weight(&LARGEST), 2);
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), 0u64..100_000]
}

proptest! {
    #[test]
    fn no_value_overflows_and_one_is_the_least(v in prop::collection::vec(number(), 10)) {
        let socket = Pending {
            send_bytes: v[0], receive_bytes: v[1], packets: v[2], segment: v[3],
            max_send_bytes: v[4], max_receive_bytes: v[5], max_packets: v[6],
        };
        let largest = Largest { send_bytes: v[7], receive_bytes: v[8], packets: v[9] };
        prop_assert!(socket.weight(&largest) >= 1);
    }

    #[test]
    fn more_to_do_is_never_less_urgent(sent in 0u64..65_536, more in 0u64..65_536, packets in 0u64..64) {
        let few = Pending { send_bytes: sent.min(more), packets, ..socket() };
        let many = Pending { send_bytes: sent.max(more), packets: packets + 1, ..few };
        prop_assert!(few.weight(&LARGEST) < many.weight(&LARGEST));
    }
}
