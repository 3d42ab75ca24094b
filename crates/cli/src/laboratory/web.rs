//! The web servers of experiments: one page, on a stack whose client is another stack in memory.

use crate::demo::host::{Host, Wanted};
use crate::http::{Body, Site, text};
use crate::link;
use bytes::Bytes;
use hyper::header::HeaderMap;
use hyper::{Response, StatusCode, Uri};
use lab::http::{Connect, Connection};
use lab::notebook::web::{PATH, Web, WebServers};
use std::sync::Arc;

/// The organization of all clients, so that only that of the server makes a difference. It takes as
/// many queues as the server's stack has.
const CLIENT: &str = "processor-per-connection";

/// Serves in memory, whatever rights there are: so figures are of one kind everywhere.
pub struct Servers;

impl WebServers for Servers {
    fn serve(&self, web: &Web, load: &mut dyn FnMut(&Connect<'_>)) -> Result<(), String> {
        let link = link::between_stacks().ok_or("there is no device between two stacks")?;
        let wanted = Wanted {
            link,
            organization: &web.organization,
            options: web.options.clone(),
            burst: web.burst,
            processors: web.processors,
            mtu: web.mtu,
            client: CLIENT,
            ..Wanted::plain(link, &web.organization, web.processors)
        };
        let page = Page(vec![b'a'; web.page].into());
        let host = Host::start(&wanted, &Arc::new(page)).map_err(|failure| failure.to_string())?;
        load(&|| Ok(Box::new(host.connect()?) as Box<dyn Connection>));
        host.stop();
        Ok(())
    }
}

/// A page of so many bytes.
struct Page(Bytes);

impl Site for Page {
    fn page(&self, uri: &Uri, _: &HeaderMap, _: bool) -> Response<Body> {
        match uri.path() {
            PATH => Response::new(Body::full(self.0.clone())),
            _ => text(StatusCode::NOT_FOUND, "not found\n"),
        }
    }
}
