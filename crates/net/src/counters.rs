//! What a domain counts. Packets in = delivered + absorbed + the sum of drops.

macro_rules! drops {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// Why a packet that came in was dropped. Each packet that is dropped
        /// counts for one reason.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum DropReason { $($(#[$doc])* $name,)* }

        impl DropReason {
            /// All reasons.
            pub const ALL: &[DropReason] = &[$(DropReason::$name,)*];
            /// The reason as a word for tables and JSON.
            pub const fn name(self) -> &'static str {
                match self { $(DropReason::$name => $text,)* }
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
    /// An EtherType that the stack does not know.
    EtherTypeUnknown = "ethertype_unknown",
    /// An ARP message that is malformed or makes no sense.
    ArpMalformed = "arp_malformed",
    /// An ARP message from another station that says it has our address (RFC 5227).
    ArpConflict = "arp_conflict",
    /// An ARP message that nobody asked for, with another address for a neighbour
    /// whose address was confirmed a moment ago.
    ArpLocked = "arp_locked",
    /// A message of neighbour discovery that is malformed, with a wrong checksum, or that
    /// makes no sense (RFC 4861 7.1).
    NdpMalformed = "ndp_malformed",
    /// A message of neighbour discovery whose hop limit is not 255: it has come from
    /// beyond the link.
    NdpHopLimit = "ndp_hop_limit",
    /// A message of neighbour discovery from another station that says it has our address.
    NdpConflict = "ndp_conflict",
    /// As for ARP: another address for a neighbour that was confirmed a moment ago.
    NdpLocked = "ndp_locked",
    /// A redirect from another router than packets go to (RFC 4861 8.1).
    NdpRedirect = "ndp_redirect",
    /// A message of a router, when too many had come.
    NdpLimit = "ndp_limit",
    /// An IP header that is malformed.
    IpMalformed = "ip_malformed",
    /// An IP header whose checksum is wrong.
    IpChecksum = "ip_checksum",
    /// A source address that no other host can have: of a group, of this host
    /// itself, or of a block that is not for use (RFC 1122 3.2.1.3, RFC 6890).
    IpSource = "ip_source",
    /// A datagram to one host in a frame to a group (RFC 1122 3.3.6).
    IpLinkGroup = "ip_link_group",
    /// A datagram for another host.
    IpNotOurs = "ip_not_ours",
    /// IPv6 extension headers that are cut short, in an order that may not be, too many, or
    /// that ask for what the stack does not do (RFC 8200 4).
    ExtensionHeader = "extension_header",
    /// A protocol that the stack does not know.
    ProtocolUnknown = "protocol_unknown",
    /// A fragment that overlaps another or does not fit its datagram.
    FragmentBad = "fragment_bad",
    /// A fragment beyond the limits of reassembly.
    FragmentLimit = "fragment_limit",
    /// An ICMP message that is malformed, or with a wrong checksum.
    IcmpMalformed = "icmp_malformed",
    /// A message of IGMP or MLD that is malformed, with a wrong checksum, or from beyond
    /// the link.
    GroupMalformed = "group_malformed",
    /// A UDP datagram that is malformed.
    UdpMalformed = "udp_malformed",
    /// A UDP datagram over IPv6 without a checksum (RFC 8200 8.1).
    UdpNoChecksum = "udp_no_checksum",
    /// A UDP datagram whose checksum is wrong.
    UdpChecksum = "udp_checksum",
    /// A UDP datagram to a port that nobody has.
    UdpNoPort = "udp_no_port",
    /// A UDP datagram to a group, of which the socket is no member, or not for this source.
    UdpNotMember = "udp_not_member",
    /// A UDP datagram to a socket whose queue is full, or that is connected to another.
    UdpQueueFull = "udp_queue_full",
    /// A datagram that is neither TCP nor UDP, for an application whose queue is full.
    RawQueueFull = "raw_queue_full",
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
    /// A SYN beyond the memory that connections may hold.
    TcpMemory = "tcp_memory",
    /// A SYN for whose connection the system gives no thread.
    TcpNoThread = "tcp_no_thread",
}

/// A number for each reason.
#[derive(Clone, PartialEq, Eq)]
struct Drops([u64; DropReason::ALL.len()]);

/// With their names, and without the reasons that did not occur.
impl std::fmt::Debug for Drops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counted =
            DropReason::ALL.iter().map(|reason| (reason.name(), self.0[*reason as usize]));
        f.debug_map().entries(counted.filter(|(_, n)| *n > 0)).finish()
    }
}

impl Default for Drops {
    fn default() -> Drops {
        Drops([0; DropReason::ALL.len()])
    }
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
    drops: Drops,
    /// Packets out that were dropped: no route, no neighbour, no room.
    pub out_dropped: u64,
    /// Announcements in answer to others that use our address (RFC 5227 2.4).
    pub addresses_defended: u64,
    /// Datagrams given up in reassembly since their fragments did not come in time.
    pub reassembly_timeouts: u64,
    /// Datagrams given up in reassembly to make room for others.
    pub reassembly_evicted: u64,
    /// Connections opened by us.
    pub opened_active: u64,
    /// Connections opened by peers.
    pub opened_passive: u64,
    /// Connections that ended.
    pub closed: u64,
    /// Connections reset, once established, since the system gave no thread.
    pub refused_no_thread: u64,
    /// Connections reset since the applications of too many were gone.
    pub orphans_reset: u64,
    /// SYNs answered by cookies, since too many handshakes were going on.
    pub cookies_out: u64,
    /// RST segments sent for no connection.
    pub resets_out: u64,
    /// RST segments for no connection that [`crate::Config::errors_per_second`] forbade.
    pub resets_limited: u64,
    /// ICMP errors sent.
    pub icmp_errors_out: u64,
    /// ICMP errors that [`crate::Config::errors_per_second`] forbade.
    pub icmp_errors_limited: u64,
    /// Echo requests answered.
    pub echo_replies_out: u64,
    /// Echo requests not answered, by [`crate::Config::errors_per_second`].
    pub echo_replies_limited: u64,
}

impl Counters {
    /// Counts a packet in as dropped.
    #[inline]
    pub fn drop(&mut self, reason: DropReason) {
        self.drops.0[reason as usize] += 1;
    }
    /// Counts packets that came in and were dropped before any layer saw them.
    pub fn lost(&mut self, reason: DropReason, packets: u64, bytes: u64) {
        self.packets_in += packets;
        self.bytes_in += bytes;
        self.drops.0[reason as usize] += packets;
    }
    /// How many were dropped for `reason`.
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.drops.0[reason as usize]
    }
    /// How many were dropped for any reason.
    pub fn dropped_in_all(&self) -> u64 {
        self.drops.0.iter().sum()
    }
    /// Adds what another has counted.
    pub fn add(&mut self, o: &Counters) {
        for (sum, n) in self.drops.0.iter_mut().zip(o.drops.0) {
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
            (&mut self.addresses_defended, o.addresses_defended),
            (&mut self.reassembly_timeouts, o.reassembly_timeouts),
            (&mut self.opened_active, o.opened_active),
            (&mut self.opened_passive, o.opened_passive),
            (&mut self.closed, o.closed),
            (&mut self.refused_no_thread, o.refused_no_thread),
            (&mut self.reassembly_evicted, o.reassembly_evicted),
            (&mut self.orphans_reset, o.orphans_reset),
            (&mut self.cookies_out, o.cookies_out),
            (&mut self.resets_out, o.resets_out),
            (&mut self.resets_limited, o.resets_limited),
            (&mut self.icmp_errors_out, o.icmp_errors_out),
            (&mut self.icmp_errors_limited, o.icmp_errors_limited),
            (&mut self.echo_replies_out, o.echo_replies_out),
            (&mut self.echo_replies_limited, o.echo_replies_limited),
        ];
        for (sum, n) in pairs {
            *sum += n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_shown_by_name() {
        let mut counters = Counters::default();
        assert!(format!("{counters:?}").contains("drops: {},"));
        counters.lost(DropReason::TcpNoPort, 3, 120);
        counters.drop(DropReason::TcpBacklog);
        let shown = format!("{counters:?}");
        assert!(shown.contains(r#"drops: {"tcp_no_port": 3, "tcp_backlog": 1}"#), "{shown}");
    }
}
