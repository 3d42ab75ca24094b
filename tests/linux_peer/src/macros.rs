//! [`suite!`](crate::suite): a test of each case for each organization.

/// Makes the tests, like the macro of the same name of the conformance suite.
#[macro_export]
macro_rules! suite {
    ($($organization:ident [$($module:tt)*] { $($test:ident $processors:literal)* } { $($fact:tt)* })*) => {
        $(mod $organization {
            $(mod $test {
                $crate::tests! { $organization $processors
                    to_kernel to_kernel_offloaded from_kernel from_kernel_offloaded echo
                    crowd_to_kernel_impaired crowd_from_kernel_impaired slow_kernel slow_us
                    half_close_by_kernel half_close_by_us resets refusals keepalive
                    udp_echo udp_from_us ping
                    to_kernel_xdp from_kernel_xdp crowd_xdp accurate_ecn
                    to_kernel_uring from_kernel_uring crowd_uring
                    ping_v6 streams_v6 udp_echo_v6
                }
            })*
        })*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! tests {
    ($organization:ident $processors:literal $($case:ident)*) => {
        $(#[test]
        fn $case() {
            let peer = $crate::Peer::new(stringify!($organization), $processors);
            peer.isolated(stringify!($case), $crate::cases::$case);
        })*
    };
}
