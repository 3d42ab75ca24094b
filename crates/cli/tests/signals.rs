//! What a running server says when it is asked by a signal.

mod common;

use common::{Server, isolated};
use rustix::process::Signal;

#[test]
fn without_a_file_for_it_the_summary_is_printed() {
    isolated(|| {
        let Some(server) = Server::start("--tap ana-test --processors 1 --tcp-echo 7") else {
            return;
        };
        for _ in 0..2 {
            server.signal(Signal::USR1);
            let lines: Vec<String> = (0..5).map(|_| server.line()).collect();
            assert!(lines[0].starts_with("so far: processor-per-connection for "), "{lines:?}");
            assert!(lines[3].starts_with("  connections: 0 accepted"), "{lines:?}");
            assert!(lines[4].starts_with("  tcp-echo 7: 0 served"), "{lines:?}");
        }
        let said = server.terminate();
        assert!(said.contains("ended: processor-per-connection for "), "{said}");
    });
}
