//! What a running server says when it is asked by a signal.

mod common;

use common::{Server, anabranch, isolated};
use rustix::process::Signal;
use std::process::Stdio;

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

/// Before, the first line about what went wrong ended a server whose log nobody read any more, by a panic.
#[test]
fn a_server_goes_on_when_nobody_reads_its_errors() {
    isolated(|| {
        let arguments = "--tap ana-test --processors 1 --tcp-echo 7 --stats-json /dev/full";
        let Some(mut server) = Server::start(arguments) else {
            return;
        };
        server.leave_errors();
        // Each time it has to say that the file has no room.
        server.signal(Signal::USR1);
        server.signal(Signal::TERM);
        let (code, said) = server.wait();
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("ended: "), "{said}");
    });
}

/// The exit code says why, whoever reads.
#[test]
fn a_refusal_that_nobody_reads_is_one() {
    let mut command = anabranch("bench rr --seconds 0");
    let mut child = command.stderr(Stdio::piped()).spawn().expect("the command runs");
    drop(child.stderr.take());
    assert_eq!(child.wait().expect("a child").code(), Some(2));
}

#[test]
fn so_it_is_of_services_on_the_sockets_of_the_kernel() {
    isolated(|| {
        let Some(server) = Server::start("--kernel --tcp-echo 7") else { return };
        for _ in 0..2 {
            server.signal(Signal::USR1);
            let lines = [server.line(), server.line()];
            assert!(lines[0].starts_with("so far: kernel for "), "{lines:?}");
            assert!(lines[1].starts_with("  tcp-echo 7: 0 served"), "{lines:?}");
        }
        let said = server.terminate();
        assert!(said.contains("ended: kernel for "), "{said}");
    });
}
