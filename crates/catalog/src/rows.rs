//! The rows of the catalog.

/// Calls a macro with all organizations: `for_each_organization!(mine)` is one call
/// `mine! { .. }` with a row for each. A row is a name in Rust's spelling, the module
/// of `organizations` that starts it, the numbers of processors that tests run it on
/// (each with a name for a module), and the fields of its [`Entry`](crate::Entry).
///
/// ```
/// macro_rules! names {
///     ($($name:ident [$($module:tt)*] { $($tests:tt)* } { $($fact:tt)* })*) => {
///         [$(stringify!($name)),*]
///     };
/// }
/// assert_eq!(anabranch_catalog::for_each_organization!(names).len(), anabranch_catalog::CATALOG.len());
/// ```
#[macro_export]
macro_rules! for_each_organization {
    ($($with:tt)*) => {
        $($with)*! {
            uniprocessor [owned::uniprocessor] { one 1 } {
                name: "uniprocessor",
                source: "every paper's baseline",
                unit: "the stack",
                family: $crate::Family::Owned,
                single: true,
                queues: $crate::Queues::Processor,
                choices: &[$crate::Choice::Pin, $crate::Choice::BusyPoll],
                keeps_order: true,
                bound: true,
                simulated: $crate::Simulated::Owned,
                locks: "",
            }
            global_lock [locked::global_lock] { one 1 two 2 } {
                name: "global-lock",
                source: "the first SMP kernels",
                unit: "the stack",
                family: $crate::Family::Locked,
                single: false,
                queues: $crate::Queues::Processor,
                choices: &[$crate::Choice::Lock, $crate::Choice::Pin],
                keeps_order: true,
                bound: false,
                simulated: $crate::Simulated::GlobalLock,
                locks: "the domain's lock",
            }
            message_parallel [shared::message_parallel] { one 1 two 2 } {
                name: "message-parallel",
                source: "Schmidt 1996, Message Parallelism; Willmann 2006, MsgP",
                unit: "the packet",
                family: $crate::Family::Shared,
                single: false,
                queues: $crate::Queues::Processor,
                choices: &[$crate::Choice::Order, $crate::Choice::Lock, $crate::Choice::Pin],
                keeps_order: false,
                bound: false,
                simulated: $crate::Simulated::MessageParallel,
                locks: "the locks of queues and connections",
            }
            group_locks [locked::group_locks] { one 1 two 2 } {
                name: "group-locks",
                source: "Willmann 2006, ConnP-L",
                unit: "a group of connections",
                family: $crate::Family::Locked,
                single: false,
                queues: $crate::Queues::Processor,
                choices: &[$crate::Choice::Groups, $crate::Choice::Lock, $crate::Choice::Pin],
                keeps_order: true,
                bound: true,
                simulated: $crate::Simulated::GroupLocks,
                locks: "the groups' locks",
            }
            group_threads [mailbox::group_threads] { one 1 two 2 } {
                name: "group-threads",
                source: "Willmann 2006, ConnP-T",
                unit: "a group of connections",
                family: $crate::Family::Mailbox,
                single: false,
                queues: $crate::Queues::Processor,
                choices: &[$crate::Choice::Groups, $crate::Choice::Pin],
                keeps_order: true,
                bound: true,
                simulated: $crate::Simulated::GroupThreads,
                locks: "",
            }
            thread_per_connection [mailbox::thread_per_connection] { one 1 two 2 } {
                name: "thread-per-connection",
                source: "Schmidt 1996, CP; Yates 1996, TPC",
                unit: "the connection",
                family: $crate::Family::Mailbox,
                single: false,
                queues: $crate::Queues::Processor,
                choices: &[$crate::Choice::MaxThreads, $crate::Choice::Pin],
                keeps_order: true,
                bound: true,
                simulated: $crate::Simulated::ThreadPerConnection,
                locks: "",
            }
            virtual_processors [locked::virtual_processors] { one 1 two 2 } {
                name: "virtual-processors",
                source: "Yates 1996, VPPC",
                unit: "the virtual processor",
                family: $crate::Family::Locked,
                single: false,
                queues: $crate::Queues::Processor,
                choices: &[$crate::Choice::VirtualProcessors, $crate::Choice::Pin],
                keeps_order: true,
                bound: true,
                simulated: $crate::Simulated::VirtualProcessors,
                locks: "the virtual processors' semaphores",
            }
            processor_per_connection [owned::processor_per_connection] { one 1 two 2 } {
                name: "processor-per-connection",
                source: "Yates 1996, PPC",
                unit: "the processor",
                family: $crate::Family::Owned,
                single: false,
                queues: $crate::Queues::Processor,
                choices: &[$crate::Choice::BusyPoll],
                keeps_order: true,
                bound: true,
                simulated: $crate::Simulated::Owned,
                locks: "",
            }
            engines [shared::engines] { one 1 two 2 } {
                name: "engines",
                source: "Bohra and Iftode 2007, TCPServers",
                unit: "dedicated engines",
                family: $crate::Family::Shared,
                single: false,
                queues: $crate::Queues::Processor,
                choices: &[$crate::Choice::Engines, $crate::Choice::Lock, $crate::Choice::Pin],
                keeps_order: false,
                bound: false,
                simulated: $crate::Simulated::Engines,
                locks: "the packet queue's lock",
            }
            engines_early [shared::engines::engines_early] { one 1 two 2 } {
                name: "engines-early",
                source: "Bohra and Iftode 2007, TCPS Early",
                unit: "the socket",
                family: $crate::Family::Shared,
                single: false,
                queues: $crate::Queues::Processor,
                choices: &[$crate::Choice::Engines, $crate::Choice::Lock, $crate::Choice::Pin],
                keeps_order: true,
                bound: false,
                simulated: $crate::Simulated::EnginesEarly,
                locks: "the run queue's lock",
            }
            engines_sched [shared::engines::engines_sched] { one 1 two 2 } {
                name: "engines-sched",
                source: "Bohra and Iftode 2007, TCPS Sched",
                unit: "the socket",
                family: $crate::Family::Shared,
                single: false,
                queues: $crate::Queues::Processor,
                choices: &[$crate::Choice::Engines, $crate::Choice::Lock, $crate::Choice::Pin],
                keeps_order: true,
                bound: false,
                simulated: $crate::Simulated::EnginesSched,
                locks: "the run queue's lock",
            }
            layer_parallel [layered] { one 1 two 2 } {
                name: "layer-parallel",
                source: "Schmidt and Suda 1996",
                unit: "the layer",
                family: $crate::Family::Layered,
                single: false,
                queues: $crate::Queues::Pipeline,
                choices: &[$crate::Choice::Pin],
                keeps_order: true,
                bound: false,
                simulated: $crate::Simulated::LayerParallel,
                locks: "",
            }
        }
    };
}
