//! Groups: what the UDP sockets, blocking and for tasks, do to join them and to send to them.

use crate::udp::Shared;
use net::Config;
use net::groups::Filter;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use wire::Address;

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

impl Shared {
    fn config(&self) -> Arc<Config> {
        self.stack().config()
    }

    /// The number by which the stack tells members apart.
    fn owner(&self) -> u64 {
        std::ptr::from_ref(self.socket()).addr() as u64
    }

    /// Wants this of a group from now on.
    fn set_filter(&self, interface: u16, group: Address, filter: Filter) -> io::Result<()> {
        let groups = &self.config().groups;
        groups
            .set(self.owner(), interface, group, filter.clone())
            .map_err(|full| io::Error::new(io::ErrorKind::QuotaExceeded, full))?;
        self.socket().memberships.set(interface, group, filter);
        Ok(())
    }

    /// Changes what is wanted of a group, and tells routers.
    fn change_filter(
        &self,
        (interface, group): (u16, Address),
        change: impl FnOnce(Option<Filter>) -> io::Result<Filter>,
    ) -> io::Result<()> {
        if !group.is_multicast() {
            return Err(invalid(format!("{group} is no group: one of 224.0.0.0/4 or ff00::/8")));
        }
        {
            let memberships = &self.socket().memberships;
            let _alone = memberships.change_alone();
            let filter = change(memberships.filter(interface, group))?;
            self.set_filter(interface, group, filter)?;
        }
        // The calling thread may do the unit's work, and wake others.
        self.tell();
        Ok(())
    }

    pub(crate) fn join(&self, interface: u16, group: Address) -> io::Result<()> {
        self.change_filter((interface, group), |filter| match filter {
            Some(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "the socket is in the group")),
            None => Ok(Filter::any()),
        })
    }

    pub(crate) fn leave(&self, interface: u16, group: Address) -> io::Result<()> {
        self.change_filter((interface, group), |filter| {
            filter.map(|_| Filter::none()).ok_or_else(|| not_in(group))
        })
    }

    /// Adds `source` to those that are heard, or takes it from them; likewise for those that
    /// are not heard of a group that was joined as a whole.
    pub(crate) fn source(
        &self,
        interface: u16,
        (group, source): (IpAddr, IpAddr),
        passes: bool,
    ) -> io::Result<()> {
        if group.is_ipv4() != source.is_ipv4() {
            return Err(invalid(format!("{source} is of another family than {group}")));
        }
        let (group, source) = (Address::from(group), Address::from(source));
        if !source.is_unicast() {
            return Err(invalid(format!("{source} is no host's address")));
        }
        self.change_filter((interface, group), |filter| {
            let mut filter = match (filter, passes) {
                (Some(filter), _) => filter,
                (None, true) => Filter::none(),
                (None, false) => return Err(not_in(group)),
            };
            match filter.exclude == passes {
                true => filter.sources.remove(&source),
                false => filter.sources.insert(source),
            };
            Ok(filter)
        })
    }

    /// The unit that sends for the socket also tells of groups, and of addresses.
    pub(crate) fn tell(&self) {
        self.stack().running().send(self.socket_shared().clone());
    }

    /// Leaves all groups.
    pub(crate) fn leave_all(&self) {
        if !self.socket().memberships.is_empty() {
            self.config().groups.leave_all(self.owner());
            self.tell();
        }
    }

    /// The interface with this address of ours; 0.0.0.0: the first that speaks IPv4.
    pub(crate) fn interface_v4(&self, address: Ipv4Addr) -> io::Result<u16> {
        let config = self.config();
        if address.is_unspecified() {
            return usual(&config, Ipv4Addr::UNSPECIFIED.into());
        }
        let ours = Address::from(address);
        let has = |i: &net::InterfaceConfig| i.addresses.iter().any(|(a, _)| *a == ours);
        let index = config.interfaces.iter().position(has).ok_or_else(|| {
            let text = format!("{address} is not an address of this stack");
            io::Error::new(io::ErrorKind::AddrNotAvailable, text)
        })?;
        Ok(index as u16)
    }

    /// The interface with this number, from 1 on in the order of the builder; 0: the first
    /// that speaks IPv6.
    pub(crate) fn interface_v6(&self, number: u32) -> io::Result<u16> {
        let config = self.config();
        let Some(index) = number.checked_sub(1) else {
            return usual(&config, Ipv6Addr::UNSPECIFIED.into());
        };
        let index = u16::try_from(index).ok();
        let known =
            |i: &u16| usize::from(*i) < config.interfaces.len() && config.loopback != Some(*i);
        index.filter(known).ok_or_else(|| invalid(format!("the stack has no interface {number}")))
    }
}

fn not_in(group: Address) -> io::Error {
    let text = format!("the socket is not in the group {group}");
    io::Error::new(io::ErrorKind::AddrNotAvailable, text)
}

/// The interface for groups of a family.
fn usual(config: &Config, family: Address) -> io::Result<u16> {
    config.interface_for_group(family).ok_or_else(|| {
        let which = if family.is_v4() { "IPv4" } else { "IPv6" };
        let text = format!("no interface has an address of {which}: give the stack one");
        io::Error::new(io::ErrorKind::AddrNotAvailable, text)
    })
}

macro_rules! group_calls {
    ($type:ty) => {
        impl $type {
            /// Becomes a member of a group on the interface with this address of the
            /// stack's; `0.0.0.0`: on the first that speaks IPv4. Routers are told
            /// (IGMPv3, RFC 3376, or as old as they are). The socket has to be bound to
            /// `0.0.0.0` or `[::]`.
            ///
            /// # Errors
            /// `InvalidInput` if it is no group; `AddrInUse` if the socket is a member;
            /// `AddrNotAvailable`; `QuotaExceeded` beyond 1,024 groups of the stack.
            pub fn join_multicast_v4(
                &self,
                group: &Ipv4Addr,
                interface: &Ipv4Addr,
            ) -> io::Result<()> {
                self.0.join(self.0.interface_v4(*interface)?, (*group).into())
            }

            /// As [`Self::join_multicast_v4`], on the interface of this number, from 1 on in
            /// the order of the builder; 0: on the first that speaks IPv6 (MLDv2, RFC 3810).
            ///
            /// # Errors
            /// As [`Self::join_multicast_v4`].
            pub fn join_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
                self.0.join(self.0.interface_v6(interface)?, (*group).into())
            }

            /// Leaves a group that was joined on this interface, whatever the sources.
            ///
            /// # Errors
            /// `AddrNotAvailable` if the socket is not in it.
            pub fn leave_multicast_v4(
                &self,
                group: &Ipv4Addr,
                interface: &Ipv4Addr,
            ) -> io::Result<()> {
                self.0.leave(self.0.interface_v4(*interface)?, (*group).into())
            }

            /// As [`Self::leave_multicast_v4`].
            ///
            /// # Errors
            /// As [`Self::leave_multicast_v4`].
            pub fn leave_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
                self.0.leave(self.0.interface_v6(interface)?, (*group).into())
            }

            /// Hears what `source` sends to a group: joins the group for this source only,
            /// or adds it to those that are heard, or takes it from those that are not
            /// (RFC 3678 4.1: `IP_ADD_SOURCE_MEMBERSHIP`, `IP_UNBLOCK_SOURCE`).
            ///
            /// # Errors
            /// As [`Self::join_multicast_v4`]; `QuotaExceeded` beyond
            /// 64 sources.
            pub fn join_source_v4(
                &self,
                group: &Ipv4Addr,
                source: &Ipv4Addr,
                interface: &Ipv4Addr,
            ) -> io::Result<()> {
                let interface = self.0.interface_v4(*interface)?;
                self.0.source(interface, ((*group).into(), (*source).into()), true)
            }

            /// As [`Self::join_source_v4`].
            ///
            /// # Errors
            /// As [`Self::join_source_v4`].
            pub fn join_source_v6(
                &self,
                group: &Ipv6Addr,
                source: &Ipv6Addr,
                interface: u32,
            ) -> io::Result<()> {
                let interface = self.0.interface_v6(interface)?;
                self.0.source(interface, ((*group).into(), (*source).into()), true)
            }

            /// Hears `source` no longer: takes it from those that are heard, or adds it to
            /// those that are not, of a group that was joined as a whole (RFC 3678 4.1:
            /// `IP_DROP_SOURCE_MEMBERSHIP`, `IP_BLOCK_SOURCE`). With its last source the
            /// group is left.
            ///
            /// # Errors
            /// `AddrNotAvailable` if the socket is not in the group; as
            /// [`Self::join_source_v4`].
            pub fn leave_source_v4(
                &self,
                group: &Ipv4Addr,
                source: &Ipv4Addr,
                interface: &Ipv4Addr,
            ) -> io::Result<()> {
                let interface = self.0.interface_v4(*interface)?;
                self.0.source(interface, ((*group).into(), (*source).into()), false)
            }

            /// As [`Self::leave_source_v4`].
            ///
            /// # Errors
            /// As [`Self::leave_source_v4`].
            pub fn leave_source_v6(
                &self,
                group: &Ipv6Addr,
                source: &Ipv6Addr,
                interface: u32,
            ) -> io::Result<()> {
                let interface = self.0.interface_v6(interface)?;
                self.0.source(interface, ((*group).into(), (*source).into()), false)
            }

            /// Sets how far what is sent to groups goes, hops, of both families: 0 stays on
            /// this host, 1 on the link. Default: 1.
            ///
            /// # Errors
            /// `InvalidInput` beyond 255.
            pub fn set_multicast_ttl_v4(&self, ttl: u32) -> io::Result<()> {
                let ttl = u8::try_from(ttl).map_err(|_| {
                    invalid(format!("a time to live to groups is at most 255 hops, not {ttl}"))
                })?;
                self.0.socket().memberships.change(|sending| sending.ttl = ttl);
                Ok(())
            }

            /// What [`Self::set_multicast_ttl_v4`] has set.
            ///
            /// # Errors
            /// None; it is like that of `std::net`.
            pub fn multicast_ttl_v4(&self) -> io::Result<u32> {
                Ok(self.0.socket().memberships.sending().ttl.into())
            }

            /// Do members on this host, this socket among them, hear what is sent to a
            /// group? Of both families. Default: yes. It takes a stack with a loopback.
            ///
            /// # Errors
            /// None; it is like that of `std::net`.
            pub fn set_multicast_loop_v4(&self, looped: bool) -> io::Result<()> {
                self.0.socket().memberships.change(|sending| sending.looped = looped);
                Ok(())
            }

            /// What [`Self::set_multicast_loop_v4`] has set.
            ///
            /// # Errors
            /// None; it is like that of `std::net`.
            pub fn multicast_loop_v4(&self) -> io::Result<bool> {
                Ok(self.0.socket().memberships.sending().looped)
            }

            /// Sends to groups by the interface of this number, from 1 on in the order of
            /// the builder; 0, the default: by that of the route, or the first that speaks
            /// the family.
            ///
            /// # Errors
            /// `InvalidInput` if there is none.
            pub fn set_multicast_interface(&self, number: u32) -> io::Result<()> {
                let interface = match number {
                    0 => None,
                    number => Some(self.0.interface_v6(number)?),
                };
                self.0.socket().memberships.change(|sending| sending.interface = interface);
                Ok(())
            }
        }
    };
}
group_calls! { crate::UdpSocket }
group_calls! { crate::tokio::UdpSocket }
