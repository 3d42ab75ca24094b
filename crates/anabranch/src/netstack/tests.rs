use super::*;
use crate::socket::Sessions;
use wire::Endpoint;

/// Before, it stayed for up to 30 s more: it was woken, but a unit still had the socket.
#[test]
fn the_thread_that_ends_sessions_does_not_outlive_who_has_them() {
    let local: SocketAddr = "0.0.0.0:0".parse().expect("an address");
    let sessions = Sessions::new(Limits::default().of_sessions());
    let socket = Arc::new(UdpShared::new(Endpoint::from(local)).with_sessions(Some(sessions)));
    let weak = Arc::downgrade(&socket);
    let timer = std::thread::spawn(move || expire(&weak));
    socket.is_dropped(&Arc::default());
    let start = Instant::now();
    while !timer.is_finished() {
        assert!(start.elapsed() < LONGEST_SLEEP / 2, "it sleeps");
        std::thread::sleep(Duration::from_millis(1));
    }
    timer.join().expect("no panic");
}
