//! How urgent a socket is: Bohra and Iftode 2007, equations 1 to 3.

/// What a socket has pending, and how much it may. Bytes and packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// `PendingSendBytes(i)`: bytes in the send buffer that wait to be sent. The
    /// application waits for the network.
    pub send_bytes: u64,
    /// `PendingRcvBytes(i)`: bytes in the receive buffer that the application
    /// has not taken. It has something to do, and more can wait.
    pub receive_bytes: u64,
    /// `NumPendingPackets(i)`: packets in the receive queue.
    pub packets: u64,
    /// `SegmentSize(i)`: bytes of a segment.
    pub segment: u64,
    /// `MaxSndBytes(i)`: size of its send buffer.
    pub max_send_bytes: u64,
    /// `MaxRcvBytes(i)`: size of its receive buffer.
    pub max_receive_bytes: u64,
    /// `MaxRQSize(i)`: size of its receive queue in packets.
    pub max_packets: u64,
}

/// The largest sizes that any socket of the stack is allowed: `MaxSndBytes`,
/// `MaxRcvBytes` and `MaxRQSize` without an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Largest {
    /// Send buffer, bytes.
    pub send_bytes: u64,
    /// Receive buffer, bytes.
    pub receive_bytes: u64,
    /// Receive queue, packets.
    pub packets: u64,
}

impl Pending {
    /// The weight of equation 3, in packets:
    ///
    /// - send: what waits to be sent, `W_s`;
    /// - receive: room in the receive buffer, `W_r`;
    /// - queue: packets in the receive queue, `W_q`;
    ///
    /// each as part of what the socket may have at most, times what any may
    /// (equation 2), so that a socket does not get ahead by a large buffer. A
    /// begun packet counts; the sum saturates, and is 1 at least.
    pub fn weight(&self, largest: &Largest) -> u32 {
        let queue = scaled(self.packets, largest.packets, self.max_packets, 1);
        weight(self.buffers(largest), queue)
    }

    /// The part of the weight that the buffers have, `W_s` and `W_r`: it changes
    /// only when the socket has had a turn.
    pub fn buffers(&self, largest: &Largest) -> u64 {
        let segment = self.segment.max(1);
        let send = scaled(self.send_bytes, largest.send_bytes, self.max_send_bytes, segment);
        let room = self.max_receive_bytes.saturating_sub(self.receive_bytes);
        let receive = scaled(room, largest.receive_bytes, self.max_receive_bytes, segment);
        send.saturating_add(receive)
    }
}

/// The weight with these parts of buffers and receive queue.
pub fn weight(buffers: u64, queue: u64) -> u32 {
    u32::try_from(buffers.saturating_add(queue)).unwrap_or(u32::MAX).max(1)
}

/// `pending / segment * largest / own`, rounded up; it saturates. A socket that
/// may have more than the largest, or nothing, counts as if it might have as much
/// as it has.
fn scaled(pending: u64, largest: u64, own: u64, segment: u64) -> u64 {
    let own = own.max(pending).max(1);
    if let (Some(product), Some(each)) = (pending.checked_mul(largest), own.checked_mul(segment)) {
        return product.div_ceil(each);
    }
    let wide = u128::from(pending) * u128::from(largest);
    u64::try_from(wide.div_ceil(u128::from(own) * u128::from(segment))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
