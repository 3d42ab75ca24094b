//! The two forms of a socket are one: what blocks becomes what tasks await, and
//! back. Neither form knows the other; this does.

use crate::tokio;
use crate::{TcpListener, TcpStream, UdpSocket};

macro_rules! forms {
    ($($socket:ident: $what:literal,)*) => {$(
        impl $socket {
            #[doc = concat!("The same ", $what, ", for tasks.")]
            pub fn into_tokio(self) -> tokio::$socket {
                tokio::$socket(self.0)
            }
        }

        impl tokio::$socket {
            #[doc = concat!("The same ", $what, ", for threads.")]
            pub fn into_blocking(self) -> $socket {
                $socket(self.0)
            }
        }

        impl From<$socket> for tokio::$socket {
            fn from(socket: $socket) -> tokio::$socket {
                socket.into_tokio()
            }
        }

        impl From<tokio::$socket> for $socket {
            fn from(socket: tokio::$socket) -> $socket {
                socket.into_blocking()
            }
        }
    )*};
}

forms! {
    TcpListener: "listener",
    TcpStream: "connection",
    UdpSocket: "socket",
}
