use super::*;

const MSS: u32 = 1000;

/// Acknowledgments of a segment each, `n` of them; what is sent in between is what
/// the window allows. Returns how many segments were sent.
fn run(prr: &mut Prr, mut pipe: u32, ssthresh: u32, n: u32, safe: bool) -> (u32, u32) {
    let mut sent = 0;
    for _ in 0..n {
        pipe -= MSS;
        prr.on_ack(MSS, pipe, (ssthresh, MSS), safe);
        while pipe + MSS <= prr.window {
            (pipe, sent) = (pipe + MSS, sent + 1);
            prr.on_send(MSS);
        }
    }
    (sent, pipe)
}

#[test]
fn the_reduction_is_spread_over_the_round_trip() {
    // RFC 6675 5/4
    // 100 segments in flight, one lost, 99 to be acknowledged; 70 shall remain.
    let mut prr = Prr::new(100_000);
    let (sent, pipe) = run(&mut prr, 99_000, 70_000, 50, false);
    assert_eq!(sent, 35, "seven of ten");
    assert_eq!(pipe, 84_000);
    let (sent, pipe) = run(&mut prr, pipe, 70_000, 49, false);
    assert_eq!((sent, pipe), (35, 70_000), "as much as is wanted, and then one for one");
}

#[test]
fn after_heavy_loss_it_is_slow_start_only_while_all_goes_well() {
    // Of 100 segments 60 are lost: 40 are in the network, 50 may be.
    let mut prr = Prr::new(100_000);
    prr.on_ack(MSS, 39_000, (50_000, MSS), false);
    assert_eq!(prr.window, 40_000, "one for one");
    prr.on_send(MSS);
    let mut calm = prr;
    let (sent, pipe) = run(&mut prr, 40_000, 50_000, 20, false);
    assert_eq!((sent, pipe), (20, 40_000));
    let (sent, pipe) = run(&mut calm, 40_000, 50_000, 20, true);
    assert_eq!((sent, pipe), (30, 50_000), "one more each time, up to ssthresh");
}

#[test]
fn the_first_goes_again_at_once_and_numbers_do_not_overflow() {
    let mut prr = Prr::new(100_000);
    prr.on_ack(0, 99_000, (50_000, MSS), false);
    assert_eq!(prr.window, 100_000);
    let mut prr = Prr::new(0);
    for (delivered, pipe) in [(u32::MAX, u32::MAX), (u32::MAX, 0), (0, u32::MAX)] {
        prr.on_ack(delivered, pipe, (u32::MAX, MSS), true);
        prr.on_ack(delivered, pipe, (0, MSS), true);
        prr.on_send(u32::MAX);
    }
}
