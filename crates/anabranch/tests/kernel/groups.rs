//! Groups: what the kernel hears of our joins, as a router and as a sender, and we of its own.

use anabranch::device::tap;
use anabranch::{Organization, Stack, UdpSocket};
use rustix::net::{AddressFamily, SocketType, ipproto, netdevice, socket};
use std::net::UdpSocket as Kernel;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);
const NAME: &str = "ana-groups";

/// Kinds of records (RFC 3376 4.2.12, RFC 3810 5.2.12).
const IS_EXCLUDE: u8 = 2;
const TO_INCLUDE: u8 = 3;
const TO_EXCLUDE: u8 = 4;
const ALLOW: u8 = 5;
const BLOCK: u8 = 6;

/// The addresses of the link, of one family.
struct Family {
    kernel: IpAddr,
    ours: IpAddr,
    prefix: u8,
    /// We are in the first as a whole, in the second for one source, the kernel in the third.
    groups: [IpAddr; 3],
    /// Where reports go, and a question for all.
    routers: IpAddr,
    all: IpAddr,
}

const V4: Family = Family {
    kernel: IpAddr::V4(Ipv4Addr::new(10, 98, 0, 1)),
    ours: IpAddr::V4(Ipv4Addr::new(10, 98, 0, 2)),
    prefix: 24,
    groups: [
        IpAddr::V4(Ipv4Addr::new(239, 9, 8, 1)),
        IpAddr::V4(Ipv4Addr::new(232, 9, 8, 2)),
        IpAddr::V4(Ipv4Addr::new(239, 9, 8, 3)),
    ],
    routers: IpAddr::V4(Ipv4Addr::new(224, 0, 0, 22)),
    all: IpAddr::V4(Ipv4Addr::new(224, 0, 0, 1)),
};

const fn six(head: u16, last: u16) -> IpAddr {
    IpAddr::V6(Ipv6Addr::new(head, 0, 0, 0, 0, 0, 0, last))
}

const V6: Family = Family {
    kernel: six(0xfd98, 1),
    ours: six(0xfd98, 2),
    prefix: 64,
    groups: [six(0xff15, 0x981), six(0xff35, 0x982), six(0xff15, 0x983)],
    routers: six(0xff02, 0x16),
    all: six(0xff02, 1),
};

/// The kernel's end of the link.
struct Link {
    family: &'static Family,
    index: u32,
    /// Hears what routers do.
    router: Kernel,
}

impl Link {
    fn new(family: &'static Family) -> Link {
        let (domain, protocol) = match family.kernel {
            IpAddr::V4(_) => (AddressFamily::INET, ipproto::IGMP),
            IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6),
        };
        let raw = socket(domain, SocketType::RAW, Some(protocol)).expect("root");
        let index = netdevice::name_to_index(&raw, NAME).expect("the device");
        let link = Link { family, index, router: Kernel::from(raw) };
        link.join(&link.router, family.routers);
        link.router.set_read_timeout(Some(PATIENCE)).expect("set");
        link
    }

    fn join(&self, socket: &Kernel, group: IpAddr) {
        match (group, self.family.kernel) {
            (IpAddr::V4(group), IpAddr::V4(us)) => socket.join_multicast_v4(&group, &us),
            (IpAddr::V6(group), _) => socket.join_multicast_v6(&group, self.index),
            _ => unreachable!("one family"),
        }
        .expect("join");
    }

    /// A socket of the kernel's that sends by this link.
    fn sender(&self) -> Kernel {
        let start = Instant::now();
        loop {
            match Kernel::bind((self.family.kernel, 0)) {
                Ok(socket) => return socket,
                // The kernel looks at a new address of its own for a moment.
                Err(error) => assert!(start.elapsed() < PATIENCE, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The records of our next report: kind, group, sources.
    #[track_caller]
    fn report(&self) -> Vec<(u8, IpAddr, Vec<IpAddr>)> {
        let mut bytes = [0; 1500];
        loop {
            let (len, from) = self.router.recv_from(&mut bytes).expect("a report");
            let message = match from.ip() {
                ip if ip == self.family.kernel => continue,
                IpAddr::V4(_) => {
                    assert_eq!((bytes[0], bytes[8]), (0x46, 1), "an option, one hop");
                    assert_eq!(bytes[20..24], [0x94, 4, 0, 0], "the option for routers");
                    &bytes[24..len]
                }
                IpAddr::V6(_) => &bytes[..len],
            };
            match message[0] {
                0x22 => return records(message, 4),
                143 if Some(from.ip()) != self.link_local() => return records(message, 16),
                _ => {}
            }
        }
    }

    /// The next report has such a record.
    #[track_caller]
    fn reports(&self, kind: u8, group: IpAddr, sources: &[IpAddr]) {
        let end = Instant::now() + PATIENCE;
        let mut seen = Vec::new();
        while Instant::now() < end {
            seen = self.report();
            if seen.iter().any(|(k, g, s)| (*k, *g, s.as_slice()) == (kind, group, sources)) {
                return;
            }
        }
        panic!("kind {kind} of {group} was not reported; last: {seen:?}");
    }

    /// The kernel's own link-local address there, which it has a moment after the device is up.
    fn link_local(&self) -> Option<IpAddr> {
        let text = std::fs::read_to_string("/proc/thread-self/net/if_inet6").expect("/proc");
        let of = |line: &str| {
            let digits = line.split(' ').next()?.to_owned();
            (line.starts_with("fe80") && line.ends_with(NAME)).then_some(digits)
        };
        let digits = text.lines().find_map(of)?;
        let bits = u128::from_str_radix(&digits, 16).expect("hexadecimal");
        Some(Ipv6Addr::from_bits(bits).into())
    }

    /// A socket of the kernel's that speaks ICMPv6 from that address, as routers do.
    fn router_of_kernel(&self) -> Kernel {
        let raw = socket(AddressFamily::INET6, SocketType::RAW, Some(ipproto::ICMPV6));
        let (raw, start) = (raw.expect("root"), Instant::now());
        while start.elapsed() < PATIENCE {
            if let Some(IpAddr::V6(address)) = self.link_local()
                && rustix::net::bind(&raw, &SocketAddrV6::new(address, 0, 0, self.index)).is_ok()
            {
                return raw.into();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("the kernel has no link-local address");
    }

    /// Asks as a router does who is a member of what, within a tenth of a second.
    fn query(&self) {
        match self.family.kernel {
            IpAddr::V4(kernel) => {
                let raw = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::IGMP));
                let raw = raw.expect("root");
                rustix::net::bind(&raw, &std::net::SocketAddrV4::new(kernel, 0)).expect("bind");
                let mut query = vec![0x11, 1, 0, 0, 0, 0, 0, 0, 2, 125, 0, 0];
                let sum: u32 =
                    query.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
                let sum = !(sum as u16 + (sum >> 16) as u16);
                query[2..4].copy_from_slice(&sum.to_be_bytes());
                Kernel::from(raw).send_to(&query, (self.family.all, 0)).expect("sent");
            }
            IpAddr::V6(_) => {
                let mut query = vec![0; 28];
                (query[0], query[5], query[24], query[25]) = (130, 100, 2, 125);
                let IpAddr::V6(all) = self.family.all else { unreachable!("one family") };
                let all = SocketAddrV6::new(all, 0, 0, self.index);
                self.router_of_kernel().send_to(&query, all).expect("sent");
            }
        }
    }

    /// Is the kernel in the group, as its own lists have it (`ip maddr`)?
    fn kernel_is_in(&self, group: IpAddr) -> bool {
        let (file, digits) = match group {
            // As it is in memory.
            IpAddr::V4(group) => ("igmp", format!("{:08X}", u32::from_ne_bytes(group.octets()))),
            IpAddr::V6(group) => ("igmp6", format!("{:032x}", group.to_bits())),
        };
        let text = std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).expect("/proc");
        text.contains(&digits)
    }
}

/// The records of a report, whose addresses have so many bytes.
fn records(message: &[u8], width: usize) -> Vec<(u8, IpAddr, Vec<IpAddr>)> {
    let address = |at: usize| match width {
        4 => IpAddr::from(<[u8; 4]>::try_from(&message[at..at + 4]).expect("four")),
        _ => IpAddr::from(<[u8; 16]>::try_from(&message[at..at + 16]).expect("sixteen")),
    };
    let mut at = 8;
    let record = |_| {
        let count = usize::from(u16::from_be_bytes([message[at + 2], message[at + 3]]));
        let sources = (0..count).map(|n| address(at + 4 + width * (n + 1))).collect();
        let found = (message[at], address(at + 4), sources);
        at += 4 + width * (count + 1);
        found
    };
    (0..message[7]).map(record).collect()
}

/// What comes next, and from where.
fn heard(socket: &UdpSocket) -> (String, IpAddr) {
    let mut bytes = [0; 64];
    let (len, from) = socket.recv_from(&mut bytes).expect("it comes");
    (String::from_utf8_lossy(&bytes[..len]).into(), from.ip())
}

fn stack(family: &Family, organization: Organization) -> Result<Stack, String> {
    // Addresses of the kernel are good at once, not after a second.
    let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/accept_dad", "0");
    let mut config = tap::Config::default().with_name(NAME);
    config.kernel_address = Some((family.kernel, family.prefix));
    let device = tap::open(&config).map_err(|error| error.to_string())?;
    let address = format!("{}/{}", family.ours, family.prefix);
    let stack = Stack::builder().organization(organization).device(device);
    Ok(stack.address(address.as_str()).start().expect("a stack"))
}

/// Our joins are told to routers, what the kernel sends comes to our members, a router's question
/// is answered, and so is the end.
fn we_are_members(family: &Family, link: &Link, stack: &Stack) {
    let [whole, single, _] = family.groups;
    let socket = UdpSocket::bind(stack, "[::]:5000").expect("bind");
    socket.set_read_timeout(Some(PATIENCE)).expect("set");
    let sender = link.sender();
    let say = |text: &str, to: IpAddr| {
        sender.send_to(text.as_bytes(), SocketAddr::new(to, 5000)).expect("sent");
    };
    match (whole, single, family.kernel) {
        (IpAddr::V4(whole), IpAddr::V4(single), IpAddr::V4(source)) => {
            let any = Ipv4Addr::UNSPECIFIED;
            socket.join_multicast_v4(&whole, &any).expect("join");
            link.reports(TO_EXCLUDE, whole.into(), &[]);
            socket.join_source_v4(&single, &source, &any).expect("join");
        }
        (IpAddr::V6(whole), IpAddr::V6(single), IpAddr::V6(source)) => {
            socket.join_multicast_v6(&whole, 0).expect("join");
            link.reports(TO_EXCLUDE, whole.into(), &[]);
            socket.join_source_v6(&single, &source, 0).expect("join");
        }
        _ => unreachable!("one family"),
    }
    link.reports(ALLOW, single, &[family.kernel]);
    say("for all", whole);
    assert_eq!(heard(&socket), ("for all".into(), family.kernel));
    say("from this source", single);
    assert_eq!(heard(&socket), ("from this source".into(), family.kernel));
    link.query();
    link.reports(IS_EXCLUDE, whole, &[]);
    match (whole, single, family.kernel) {
        (IpAddr::V4(whole), IpAddr::V4(single), IpAddr::V4(source)) => {
            let any = Ipv4Addr::UNSPECIFIED;
            socket.leave_multicast_v4(&whole, &any).expect("leave");
            link.reports(TO_INCLUDE, whole.into(), &[]);
            socket.leave_source_v4(&single, &source, &any).expect("leave");
        }
        (IpAddr::V6(whole), IpAddr::V6(single), IpAddr::V6(source)) => {
            socket.leave_multicast_v6(&whole, 0).expect("leave");
            link.reports(TO_INCLUDE, whole.into(), &[]);
            socket.leave_source_v6(&single, &source, 0).expect("leave");
        }
        _ => unreachable!("one family"),
    }
    link.reports(BLOCK, single, &[family.kernel]);
    // What is sent after that does not come: the next thing that does is for us alone.
    say("to nobody", whole);
    say("to nobody", single);
    say("alone", family.ours);
    assert_eq!(heard(&socket), ("alone".into(), family.kernel));
}

/// The kernel's members hear what we send.
fn the_kernel_is_a_member(family: &Family, link: &Link, stack: &Stack) {
    let group = family.groups[2];
    let any = if group.is_ipv4() { "0.0.0.0:5001" } else { "[::]:5001" };
    let member = Kernel::bind(any).expect("bind");
    member.set_read_timeout(Some(PATIENCE)).expect("set");
    assert!(!link.kernel_is_in(group));
    link.join(&member, group);
    assert!(link.kernel_is_in(group));
    let socket = UdpSocket::bind(stack, "[::]:0").expect("bind");
    socket.send_to(b"to the kernel", SocketAddr::new(group, 5001)).expect("sent");
    let mut bytes = [0; 64];
    let (len, from) = member.recv_from(&mut bytes).expect("it comes");
    assert_eq!((&bytes[..len], from.ip()), (&b"to the kernel"[..], family.ours));
}

fn in_each_organization(family: &'static Family) {
    for organization in Organization::all() {
        println!("{organization}");
        let done = device::namespace::in_private(|| {
            let stack = stack(family, organization)?;
            let link = Link::new(family);
            we_are_members(family, &link, &stack);
            the_kernel_is_a_member(family, &link, &stack);
            Ok::<(), String>(())
        });
        match done.map_err(|error| error.to_string()) {
            Ok(Ok(())) => {}
            Ok(Err(why)) | Err(why) => return println!("skipped: {why}"),
        }
    }
}

#[test]
fn igmp() {
    in_each_organization(&V4);
}

#[test]
fn mld() {
    in_each_organization(&V6);
}
