//! What packetdrill does with the library, without packetdrill: the table of functions
//! is filled, and called as it calls them.

use anabranch_packetdrill::{Interface, packetdrill_interface_init};
use libc::{c_int, c_void, sockaddr, sockaddr_in};
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

const ORGANIZATIONS: [&str; 3] = ["uniprocessor", "group-locks", "message-parallel"];
const US: [u8; 4] = [192, 168, 0, 1];
const PEER: [u8; 4] = [192, 0, 2, 1];
const PORT: u16 = 8080;
const PEER_PORT: u16 = 40_000;

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const PSH: u8 = 8;
const ACK: u8 = 16;

/// A segment, as far as the tests care.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Segment {
    flags: u8,
    seq: u32,
    ack: u32,
    len: usize,
}

fn sum(bytes: &[u8], start: u32) -> u32 {
    let pairs = bytes.chunks(2);
    pairs.fold(start, |sum, pair| {
        sum + u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]))
    })
}

fn checksum(mut sum: u32) -> [u8; 2] {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// A datagram with a segment of the peer.
fn datagram(segment: &Segment) -> Vec<u8> {
    let mut tcp = Vec::new();
    tcp.extend(PEER_PORT.to_be_bytes());
    tcp.extend(PORT.to_be_bytes());
    tcp.extend(segment.seq.to_be_bytes());
    tcp.extend(segment.ack.to_be_bytes());
    tcp.extend([5 << 4, segment.flags, 0x70, 0, 0, 0, 0, 0]);
    tcp.extend(vec![b'x'; segment.len]);
    let pseudo = sum(&[PEER, US].concat(), 6 + tcp.len() as u32);
    let check = checksum(sum(&tcp, pseudo));
    tcp[16..18].copy_from_slice(&check);
    let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0];
    ip[2..4].copy_from_slice(&((20 + tcp.len()) as u16).to_be_bytes());
    ip.extend(PEER);
    ip.extend(US);
    let check = checksum(sum(&ip, 0));
    ip[10..12].copy_from_slice(&check);
    ip.extend(tcp);
    ip
}

/// packetdrill's side.
#[derive(Clone, Copy)]
struct Drill(&'static Interface);

// SAFETY: packetdrill calls the table from two threads; the stack behind `userdata` is
// made for that.
unsafe impl Send for Drill {}

/// Calls a function of the table.
macro_rules! call {
    ($drill:expr, $name:ident($($arg:expr),*)) => {
        // SAFETY: the pointers are those of live values, or null where the system call
        // allows it.
        unsafe { ($drill.0.$name)($drill.0.userdata, $($arg),*) }
    };
}

fn address(ip: [u8; 4], port: u16) -> sockaddr_in {
    sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(ip) },
        sin_zero: [0; 8],
    }
}

impl Drill {
    fn start(flags: &str) -> Drill {
        let flags = CString::new(flags).expect("no zero byte");
        let mut interface = MaybeUninit::<Interface>::uninit();
        // SAFETY: a string, and memory for the table, which is filled.
        let interface = unsafe {
            packetdrill_interface_init(flags.as_ptr(), interface.as_mut_ptr());
            interface.assume_init()
        };
        Drill(Box::leak(Box::new(interface)))
    }

    fn micros(self) -> i64 {
        let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
        assert_eq!(call!(self, gettimeofday(&mut time, null_mut())), 0);
        time.tv_sec * 1_000_000 + time.tv_usec
    }

    fn say(self, flags: u8, seq: u32, ack: u32, len: usize) {
        let packet = datagram(&Segment { flags, seq, ack, len });
        assert_eq!(call!(self, netdev_send(packet.as_ptr().cast(), packet.len())), 0);
    }

    /// The next segment, and when it was sent.
    fn hear(self) -> Option<(Segment, i64)> {
        let (mut packet, mut at) = ([0; 65_536], 0);
        let mut len = packet.len();
        assert_eq!(call!(self, netdev_receive(packet.as_mut_ptr().cast(), &mut len, &mut at)), 0);
        if len == 0 {
            return None;
        }
        let tcp = &packet[20..len];
        let word = |at: usize| u32::from_be_bytes(tcp[at..at + 4].try_into().expect("four"));
        let segment = Segment {
            flags: tcp[13],
            seq: word(4),
            ack: word(8),
            len: tcp.len() - usize::from(tcp[12] >> 4) * 4,
        };
        Some((segment, at))
    }

    fn listener(self) -> c_int {
        let fd = call!(self, socket(libc::AF_INET, libc::SOCK_STREAM, 0));
        let local = address(US, PORT);
        let local = (&raw const local).cast::<sockaddr>();
        assert_eq!(call!(self, bind(fd, local, size_of::<sockaddr_in>() as u32)), 0);
        assert_eq!(call!(self, listen(fd, 5)), 0);
        fd
    }

    /// A handshake with the listener; returns our next sequence number.
    fn handshake(self) -> u32 {
        self.say(SYN, 0, 0, 0);
        let (syn, _) = self.hear().expect("a SYN-ACK");
        assert_eq!((syn.flags, syn.ack), (SYN | ACK, 1));
        self.say(ACK, 1, syn.seq + 1, 0);
        syn.seq + 1
    }

    fn accept(self, listener: c_int) -> c_int {
        call!(self, accept(listener, null_mut(), null_mut()))
    }

    fn read(self, fd: c_int, len: usize) -> isize {
        let mut bytes = vec![0u8; len];
        call!(self, read(fd, bytes.as_mut_ptr().cast(), len))
    }

    fn write(self, fd: c_int, len: usize) -> isize {
        let bytes = vec![0u8; len];
        call!(self, write(fd, bytes.as_ptr().cast(), len))
    }

    fn end(self) {
        call!(self, free());
    }
}

fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().expect("it is the system's")
}

/// Runs a test against each organization.
fn each(test: impl Fn(Drill)) {
    for organization in ORGANIZATIONS {
        println!("{organization}");
        let drill = Drill::start(&format!("organization={organization}"));
        test(drill);
        drill.end();
    }
}

#[test]
fn bytes_go_both_ways() {
    each(|drill| {
        let listener = drill.listener();
        let seq = drill.handshake();
        let stream = drill.accept(listener);
        assert!(stream >= 0 && stream != listener);
        assert_eq!(drill.write(stream, 300), 300);
        let (data, _) = drill.hear().expect("data");
        assert_eq!(data, Segment { flags: PSH | ACK, seq, ack: 1, len: 300 });
        drill.say(PSH | ACK, 1, seq + 300, 700);
        assert_eq!(drill.read(stream, 1000), 700);
        assert_eq!(call!(drill, close(stream)), 0);
        let flags: Vec<u8> =
            std::iter::from_fn(|| drill.hear()).take(2).map(|s| s.0.flags).collect();
        assert_eq!(flags, [ACK, FIN | ACK]);
        assert_eq!((drill.read(stream, 1), errno()), (-1, libc::EBADF));
    });
}

/// What is not acknowledged is sent again at exactly the times of the time-out. It would
/// take some minutes, if time were the system's.
#[test]
fn time_is_exact_and_virtual() {
    each(|drill| {
        let listener = drill.listener();
        let seq = drill.handshake();
        let stream = drill.accept(listener);
        assert_eq!(drill.write(stream, 10), 10);
        let sent: Vec<(Segment, i64)> = (0..8).map(|_| drill.hear().expect("again")).collect();
        let gaps: Vec<i64> = sent.windows(2).map(|two| (two[1].1 - two[0].1) / 1000).collect();
        assert!((200..=230).contains(&gaps[0]), "{gaps:?}");
        for two in gaps.windows(2) {
            assert!((two[1] - 2 * two[0]).abs() <= 20, "it doubles: {gaps:?}");
        }
        assert!(sent.iter().all(|(segment, _)| (segment.seq, segment.len) == (seq, 10)));
        let before = drill.micros();
        assert_eq!(call!(drill, usleep(3_000_000)), 0);
        let passed = drill.micros() - before;
        assert!((3_000_000..3_000_100).contains(&passed), "{passed}");
    });
}

/// The script expects a call to block: it is made on another thread, time goes on
/// beside it, and it ends at the moment at which what it waits for comes.
#[test]
fn a_call_blocks_until_its_moment() {
    each(|drill| {
        let listener = drill.listener();
        let before = drill.micros();
        let (started, tid) = std::sync::mpsc::channel();
        let caller = std::thread::spawn(move || {
            // SAFETY: it only returns a number.
            started.send(unsafe { libc::gettid() }).expect("somebody listens");
            let stream = drill.accept(listener);
            (stream, drill.micros())
        });
        // As packetdrill does: until the thread sleeps in the call.
        let stat = format!("/proc/self/task/{}/stat", tid.recv().expect("it starts"));
        while !std::fs::read_to_string(&stat).expect("it waits").contains(") S ") {
            std::thread::yield_now();
        }
        call!(drill, usleep(100_000));
        drill.handshake();
        call!(drill, usleep(500_000));
        let (stream, at) = caller.join().expect("no panic");
        assert!(stream >= 0);
        assert!((100_000..100_100).contains(&(at - before)), "{}", at - before);
    });
}

#[test]
fn calls_that_must_not_wait_do_not() {
    each(|drill| {
        let listener = drill.listener();
        let flags = i64::from(libc::O_RDWR | libc::O_NONBLOCK);
        assert_eq!(call!(drill, fcntl(listener, libc::F_SETFL, flags)), 0);
        assert_eq!((drill.accept(listener), errno()), (-1, libc::EAGAIN));
        drill.handshake();
        let stream = drill.accept(listener);
        assert_eq!(call!(drill, fcntl(stream, libc::F_SETFL, flags)), 0);
        assert_eq!((drill.read(stream, 10), errno()), (-1, libc::EAGAIN));
        drill.say(RST, 1, 0, 0);
        assert_eq!((drill.read(stream, 10), errno()), (-1, libc::ECONNRESET));
    });
}

/// SO_SNDBUF bounds what is written and not acknowledged; Linux doubles it.
#[test]
fn a_send_buffer_bounds_what_is_written() {
    each(|drill| {
        let listener = drill.listener();
        let seq = drill.handshake();
        let stream = drill.accept(listener);
        let flags = i64::from(libc::O_RDWR | libc::O_NONBLOCK);
        assert_eq!(call!(drill, fcntl(stream, libc::F_SETFL, flags)), 0);
        let (mut bytes, mut len) = (10_000, 4);
        let option = (libc::SOL_SOCKET, libc::SO_SNDBUF);
        let value = (&raw mut bytes).cast::<c_void>();
        assert_eq!(call!(drill, setsockopt(stream, option.0, option.1, value, 4)), 0);
        assert_eq!(call!(drill, getsockopt(stream, option.0, option.1, value, &mut len)), 0);
        assert_eq!((bytes, len), (20_000, 4));
        assert_eq!(drill.write(stream, 50_000), 20_000);
        assert_eq!((drill.write(stream, 1), errno()), (-1, libc::EAGAIN));
        drill.say(ACK, 1, seq + 1072, 0);
        assert_eq!(drill.write(stream, 50_000), 1072);
    });
}

/// As long as it takes, though nothing comes of it; and what is not there is not looked at.
#[test]
fn a_poll_waits_as_long_as_it_is_told() {
    each(|drill| {
        let events = libc::POLLIN;
        let nobody = libc::pollfd { fd: -1, events, revents: 7 };
        let mut fds = [libc::pollfd { fd: drill.listener(), events, revents: 7 }, nobody];
        let before = drill.micros();
        let ready = call!(drill, poll(fds.as_mut_ptr(), 2, 2_000_000));
        assert_eq!((ready, fds.map(|fd| fd.revents)), (0, [0, 0]), "{}", errno());
        let passed = drill.micros() - before;
        assert!((2_000_000_000..2_000_000_100).contains(&passed), "{passed}");
    });
}

/// packetdrill closes by the system's own call what a script leaves open.
#[test]
fn descriptors_are_the_systems() {
    each(|drill| {
        let fd = drill.listener();
        // SAFETY: the number is that of a descriptor that nobody else closes: the stack
        // forgets those that are left at its end.
        assert_eq!(unsafe { libc::close(fd) }, 0);
    });
}

#[test]
fn bad_pointers_and_options_are_named() {
    each(|drill| {
        let listener = drill.listener();
        drill.handshake();
        let stream = drill.accept(listener);
        assert_eq!((call!(drill, write(stream, null(), 10)), errno()), (-1, libc::EFAULT));
        assert_eq!((call!(drill, read(stream, null_mut(), 10)), errno()), (-1, libc::EFAULT));
        let one = 1;
        let one = (&raw const one).cast::<c_void>();
        let absent = (libc::IPPROTO_TCP, libc::TCP_MD5SIG);
        let result = call!(drill, setsockopt(stream, absent.0, absent.1, one, 4));
        assert_eq!((result, errno()), (-1, libc::ENOPROTOOPT));
        let of_listeners = (libc::IPPROTO_TCP, libc::TCP_FASTOPEN);
        let result = call!(drill, setsockopt(stream, of_listeners.0, of_listeners.1, one, 4));
        assert_eq!((result, errno()), (-1, libc::EINVAL));
        assert_eq!(call!(drill, setsockopt(listener, of_listeners.0, of_listeners.1, one, 4)), 0);
        assert_eq!((call!(drill, close(12345)), errno()), (-1, libc::EBADF));
        let message = call!(drill, socket(libc::AF_UNIX, libc::SOCK_STREAM, 0));
        assert_eq!((message, errno()), (-1, libc::EAFNOSUPPORT));
    });
}
