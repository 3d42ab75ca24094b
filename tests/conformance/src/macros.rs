//! [`suite!`](crate::suite): a test of each case for each organization.

/// Makes the tests, for rows of the catalog: `for_each_organization!(suite)`.
#[macro_export]
macro_rules! suite {
    ($($organization:ident [$($module:tt)*] { $($test:ident $processors:literal)* } { $($fact:tt)* })*) => {
        $(mod $organization {
            $(mod $test { $crate::cases!($organization $processors); })*
        })*
    };
}

/// Makes tests of some cases, those that differ by family most, for rows of the catalog.
#[macro_export]
macro_rules! slice {
    ($($organization:ident [$($module:tt)*] { $($test:ident $processors:literal)* } { $($fact:tt)* })*) => {
        $(mod $organization {
            $(mod $test {
                $crate::tests! { $organization $processors
                    basic: handshake echo;
                    bulk: both_ways_offloaded impaired many_connections;
                    refusals: closed_port nobody_there;
                    udp: echo refused large_both_ways;
                    loopback: to_itself to_itself_by_datagrams;
                    life: conservation;
                }
            })*
        })*
    };
}

/// All cases, by their file.
#[doc(hidden)]
#[macro_export]
macro_rules! cases {
    ($organization:ident $processors:literal) => {
        $crate::tests! { $organization $processors
            basic: handshake echo echo_by_turns port_in_use address_not_ours nonblocking time_outs
                peek clones_share tasks tasks_in_crowds;
            bulk: both_ways both_ways_offloaded impaired impaired_badly small_mtu small_ring
                big_writes tiny_receive_buffer slow_reader many_connections many_impaired;
            closing: half_close_by_client half_close_by_server shutdown_both_at_once
                drop_with_unread_resets drop_delivers linger_zero_resets unaccepted_are_reset
                writing_to_the_gone_fails reading_shut_down;
            refusals: closed_port nobody_there no_route backlog connect_in_time;
            udp: echo refused large_both_ways large_impaired overflow_drops connected_hears_one
                sizes receive_in_time tasks;
            loopback: to_itself to_itself_by_datagrams nobody_there stays_inside;
            life: churn stop_in_transfer stop_wakes_all stopped_gives_errors conservation;
        }
    };
}

#[doc(hidden)]
#[expect(clippy::crate_in_macro_def, reason = "the family is the test program's")]
#[macro_export]
macro_rules! tests {
    ($organization:ident $processors:literal $($file:ident: $($case:ident)*;)*) => {
        $(mod $file {
            $(#[test]
            fn $case() {
                // The test program says which family it is of.
                crate::family();
                let rig = $crate::Rig::new(stringify!($organization), $processors);
                rig.run(stringify!($case), $crate::cases::$file::$case);
            })*
        })*
    };
}
