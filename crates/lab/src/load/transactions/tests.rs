//! A churn without local ports.

use super::{CHURN_PORTS, FIRST_PORT};
use crate::load::{Call, LoadConn, Loads, Meter, Role};
use net::Application;
use net::application::ConnectError;
use std::sync::Arc;
use wire::Endpoint;

fn remote(port: u16) -> Endpoint {
    Endpoint { address: std::net::Ipv4Addr::new(10, 0, 0, 2).into(), port }
}

#[test]
fn a_churn_goes_to_the_next_port_once_round() {
    let meter = Arc::new(Meter::default());
    let mut load = Loads::new(64, meter.clone()).load();
    let mut conn = LoadConn::new(Role::Churn, Some(remote(FIRST_PORT + 3)));
    for nth in 1..CHURN_PORTS {
        load.connect_failed(conn, ConnectError::NoPort);
        let Some(Call::Connect { remote: next, connection, .. }) = load.next_call() else {
            panic!("call {nth} is missing: {:?}", meter.failure());
        };
        assert_eq!(next, remote(FIRST_PORT + (3 + nth) % CHURN_PORTS));
        assert_eq!(connection.remote.as_deref(), Some(&next));
        conn = connection;
    }
    assert_eq!(meter.failure(), None);
    load.connect_failed(conn, ConnectError::NoPort);
    assert!(load.next_call().is_none());
    assert!(meter.failure().is_some_and(|what| what.contains("local ports")));
}

#[test]
fn what_else_fails_fails() {
    for (role, error) in
        [(Role::Client, ConnectError::NoPort), (Role::Churn, ConnectError::TableFull)]
    {
        let meter = Arc::new(Meter::default());
        let mut load = Loads::new(64, meter.clone()).load();
        load.connect_failed(LoadConn::new(role, Some(remote(FIRST_PORT))), error);
        assert!(load.next_call().is_none());
        assert!(meter.failure().is_some(), "{role:?} {error}");
    }
}
