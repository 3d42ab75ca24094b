use super::*;

#[test]
fn what_simulated_senders_may_have_on_their_way_fits_into_queues() {
    for connections in [1, 16, 64, 619, 3072] {
        let plan = BenchPlan {
            direction: crate::setup::bench_plan::Direction::Receive,
            peer: Peer::Driver,
            connections,
            ..BenchPlan::default()
        };
        let (device, _) = devices(&plan);
        let tcp = config(&plan, Side::Tested, &device).tcp.clone();
        assert!(tcp.max_receive_buffer <= tcp.receive_buffer, "it does not grow");
        let all = connections * tcp.receive_buffer;
        assert!(all <= DRIVER_WINDOWS.max(connections * 2 * plan.mtu), "{connections}: {all}");
        assert!(tcp.receive_buffer >= 2 * (plan.mtu - 40), "an acknowledgment for every second");
    }
}
