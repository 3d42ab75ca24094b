//! What a domain counts. Packets in = delivered + absorbed + the sum of drops.

macro_rules! drops {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// Why a packet that came in was dropped. Each packet that is dropped
        /// counts for one reason.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Drop { $($(#[$doc])* $name,)* }

        impl Drop {
            /// All reasons.
            pub const ALL: &[Drop] = &[$(Drop::$name,)*];
            /// The reason as a word for tables and JSON.
            pub const fn name(self) -> &'static str {
                match self { $(Drop::$name => $text,)* }
            }
        }
    };
}

drops! {
    /// A packet for another unit whose mailbox is full.
    MailboxFull = "mailbox_full",
    /// A packet for a socket, or a kind of packets, whose receive queue is full.
    ReceiveQueueFull = "receive_queue_full",
    /// An Ethernet header that is cut short.
    EthernetMalformed = "ethernet_malformed",
    /// A frame for another station.
    EthernetNotOurs = "ethernet_not_ours",
    /// A frame with the tag of another VLAN.
    VlanNotOurs = "vlan_not_ours",
    /// An EtherType that the stack does not speak.
    EtherTypeUnknown = "ethertype_unknown",
    /// An ARP message that is malformed or makes no sense.
    ArpMalformed = "arp_malformed",
    /// An IP header that is malformed.
    IpMalformed = "ip_malformed",
    /// An IP header whose checksum is wrong.
    IpChecksum = "ip_checksum",
    /// A source address that no host can have.
    IpSource = "ip_source",
    /// A datagram for another host.
    IpNotOurs = "ip_not_ours",
    /// A protocol that the stack does not speak.
    ProtocolUnknown = "protocol_unknown",
    /// A fragment that overlaps another or does not fit its datagram.
    FragmentBad = "fragment_bad",
    /// A fragment beyond the limits of reassembly.
    FragmentLimit = "fragment_limit",
    /// An ICMP message that is malformed, or with a wrong checksum.
    IcmpMalformed = "icmp_malformed",
    /// A UDP datagram that is malformed.
    UdpMalformed = "udp_malformed",
    /// A UDP datagram whose checksum is wrong.
    UdpChecksum = "udp_checksum",
    /// A UDP datagram to a port that nobody has.
    UdpNoPort = "udp_no_port",
    /// A UDP datagram to a socket whose queue is full.
    UdpQueueFull = "udp_queue_full",
    /// A segment that is malformed.
    TcpMalformed = "tcp_malformed",
    /// A segment whose checksum is wrong.
    TcpChecksum = "tcp_checksum",
    /// A segment to a group address.
    TcpGroup = "tcp_group",
    /// A segment for no connection and no listening port.
    TcpNoPort = "tcp_no_port",
    /// A segment that a listening port ignores or resets.
    TcpNotSyn = "tcp_not_syn",
    /// A SYN beyond the backlog.
    TcpBacklog = "tcp_backlog",
    /// A SYN beyond the connections that the table may hold.
    TcpTableFull = "tcp_table_full",
    /// A SYN for whose connection the system gives no thread.
    TcpNoThread = "tcp_no_thread",
}

/// What a domain, or a thread's share of one, has counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Frames received.
    pub packets_in: u64,
    /// Bytes of them.
    pub bytes_in: u64,
    /// Frames sent.
    pub packets_out: u64,
    /// Bytes of them.
    pub bytes_out: u64,
    /// Packets in that a connection or a socket took.
    pub delivered: u64,
    /// Packets in that the stack itself had use for: ARP, ICMP, fragments held.
    pub absorbed: u64,
    /// Packets in that were dropped, by reason.
    drops: [u64; Drop::ALL.len()],
    /// Packets out that were dropped: no route, no neighbour, no room.
    pub out_dropped: u64,
    /// Datagrams given up in reassembly.
    pub reassembly_timeouts: u64,
    /// Connections opened by us.
    pub opened_active: u64,
    /// Connections opened by peers.
    pub opened_passive: u64,
    /// Connections that ended.
    pub closed: u64,
    /// Connections reset, once established, since the system gave no thread.
    pub refused_no_thread: u64,
    /// RST segments sent for no connection.
    pub resets_out: u64,
}

impl Counters {
    /// Counts a packet in as dropped.
    #[inline]
    pub fn drop(&mut self, reason: Drop) {
        self.drops[reason as usize] += 1;
    }
    /// Counts packets that came in and were dropped before any layer saw them.
    pub fn lost(&mut self, reason: Drop, packets: u64, bytes: u64) {
        self.packets_in += packets;
        self.bytes_in += bytes;
        self.drops[reason as usize] += packets;
    }
    /// How many were dropped for `reason`.
    pub fn dropped(&self, reason: Drop) -> u64 {
        self.drops[reason as usize]
    }
    /// How many were dropped for any reason.
    pub fn dropped_in_all(&self) -> u64 {
        self.drops.iter().sum()
    }
    /// Adds what another has counted.
    pub fn add(&mut self, o: &Counters) {
        for (sum, n) in self.drops.iter_mut().zip(o.drops) {
            *sum += n;
        }
        let pairs = [
            (&mut self.packets_in, o.packets_in),
            (&mut self.bytes_in, o.bytes_in),
            (&mut self.packets_out, o.packets_out),
            (&mut self.bytes_out, o.bytes_out),
            (&mut self.delivered, o.delivered),
            (&mut self.absorbed, o.absorbed),
            (&mut self.out_dropped, o.out_dropped),
            (&mut self.reassembly_timeouts, o.reassembly_timeouts),
            (&mut self.opened_active, o.opened_active),
            (&mut self.opened_passive, o.opened_passive),
            (&mut self.closed, o.closed),
            (&mut self.refused_no_thread, o.refused_no_thread),
            (&mut self.resets_out, o.resets_out),
        ];
        for (sum, n) in pairs {
            *sum += n;
        }
    }
}
