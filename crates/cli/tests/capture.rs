//! A capture that cannot be written whole.

mod common;

use common::{PATIENCE, Server, isolated};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};

/// Serves where no file may be longer than 256 blocks, as on a full disk.
fn serve_in_little_room(arguments: &str, errors: &str) -> Option<Server> {
    let line = format!(
        "trap '' XFSZ; ulimit -f 256; exec {} serve {arguments} 2>{errors}",
        env!("CARGO_BIN_EXE_anabranch")
    );
    let mut command = Command::new("sh");
    command.args(["-c", &line]).stdin(Stdio::null());
    Server::start_by(command)
}

#[test]
fn a_capture_that_is_cut_off_is_told() {
    isolated(|| {
        if let Err(error) = device::tap::open(&device::tap::Config::default()) {
            println!("skipped: {error}");
            return;
        }
        let place = tempfile::tempdir().expect("a directory");
        let (pcap, errors) = (place.path().join("x.pcapng"), place.path().join("errors"));
        let arguments = format!("--tap ana-test --tcp-echo 7 --pcap {}", pcap.display());
        let server = serve_in_little_room(&arguments, &errors.display().to_string());
        let server = server.expect("a TAP device");
        let address = SocketAddr::from(([10, 99, 0, 2], 7));
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE).expect("connected");
        let (sent, mut back) = (vec![7; 1 << 20], vec![0; 1 << 20]);
        let mut writer = stream.try_clone().expect("cloned");
        std::thread::scope(|scope| {
            scope.spawn(move || writer.write_all(&sent).expect("written"));
            // The stack goes on.
            stream.read_exact(&mut back).expect("echoed");
        });
        server.signal(Signal::TERM);
        assert_eq!(server.wait().0, Some(1));
        let errors = std::fs::read_to_string(errors).expect("there");
        assert!(errors.contains("is cut off") && errors.contains("free some room"), "{errors}");
        assert!(std::fs::metadata(pcap).expect("there").len() <= 256 * 1024);
    });
}
