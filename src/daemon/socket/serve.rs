//! Accepts connections and brings replies to those who asked.
//!
//! Where all places are taken, the connection that has asked nothing for longest gives way: so
//! whoever opens connections and keeps them disturbs nobody.
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, HashMap},
    rc::Rc,
    time::Duration,
};

use tokio::{
    net::{UnixListener, UnixStream},
    sync::{Notify, mpsc::UnboundedReceiver, oneshot},
    task::{spawn_local, yield_now},
    time::{sleep, timeout},
};

use super::{EdgeEvent, Limits, connection};
use crate::engine::{
    event::RequestId,
    request::{Reply, Request},
    wire,
};

/// How long nothing is accepted where the system has no descriptor left.
const PAUSE: Duration = Duration::from_millis(50);
const CROWDED: &str = "the service has too many connections";
pub(super) const ENDING: &str = "the service is ending";

/// What the tasks of all connections share.
pub(super) struct Shared {
    pub(super) limits: Limits,
    requests: Box<dyn Fn(EdgeEvent)>,
    open: RefCell<HashMap<RequestId, oneshot::Sender<Reply>>>,
    /// Connections that wait for a request, the longest wait first. They end when they are told
    /// why, or when this is dropped.
    idle: RefCell<BTreeMap<u64, oneshot::Sender<&'static str>>>,
    next: Cell<u64>,
    connections: Cell<usize>,
    left: Notify,
    ending: Cell<bool>,
}

/// Serves until the owner is gone, and then gives clients a moment to take their last replies.
pub(super) async fn serve(
    listener: UnixListener,
    shared: Rc<Shared>,
    mut replies: UnboundedReceiver<(RequestId, Reply)>,
) {
    let accepting = spawn_local(accept(listener, Rc::clone(&shared)));
    while let Some((id, reply)) = replies.recv().await {
        shared.answer(id, reply);
    }
    accepting.abort();
    shared.end();
    timeout(shared.limits.linger, shared.emptied()).await.ok();
}

async fn accept(listener: UnixListener, shared: Rc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => admit(stream, &shared),
            Err(_) => sleep(PAUSE).await,
        }
        // So that those who are just admitted count as waiting for a request.
        yield_now().await;
    }
}

fn admit(stream: UnixStream, shared: &Rc<Shared>) {
    if !is_same_user(&stream) {
        return;
    }
    let is_full = shared.connections.get() >= shared.limits.connections;
    if is_full && !shared.dismiss_longest_idle(CROWDED) {
        // A new connection has room for a line; who does not take it is not waited for.
        let line = wire::write_reply(&Reply::Error(CROWDED.to_owned()));
        rustix::io::write(&stream, &line.unwrap_or_default()).ok();
        return;
    }
    spawn_local(connection::serve(stream, Place::take(shared)));
}

fn is_same_user(stream: &UnixStream) -> bool {
    let ours = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == ours)
}

impl Shared {
    pub(super) fn new(requests: Box<dyn Fn(EdgeEvent)>, limits: Limits) -> Self {
        Self {
            limits,
            requests,
            open: RefCell::default(),
            idle: RefCell::default(),
            next: Cell::new(1),
            connections: Cell::new(0),
            left: Notify::new(),
            ending: Cell::new(false),
        }
    }

    fn next(&self) -> u64 {
        self.next.replace(self.next.get() + 1)
    }

    fn answer(&self, id: RequestId, reply: Reply) {
        if let Some(asker) = self.open.borrow_mut().remove(&id) {
            asker.send(reply).ok();
        }
    }

    /// Passes a request on; its reply comes here.
    pub(super) fn ask(&self, request: Request) -> (RequestId, oneshot::Receiver<Reply>) {
        let (asker, reply) = oneshot::channel();
        let id = self.next();
        self.open.borrow_mut().insert(id, asker);
        (self.requests)(EdgeEvent::Request(id, request));
        (id, reply)
    }

    /// The client of a request is gone.
    pub(super) fn hang_up(&self, id: RequestId) {
        if self.open.borrow_mut().remove(&id).is_some() {
            (self.requests)(EdgeEvent::HungUp(id));
        }
    }

    fn dismiss_longest_idle(&self, why: &'static str) -> bool {
        let longest = self.idle.borrow_mut().pop_first();
        longest.is_some_and(|(_, connection)| connection.send(why).is_ok())
    }

    fn end(&self) {
        self.ending.set(true);
        self.open.borrow_mut().clear();
        self.idle.borrow_mut().clear();
    }

    pub(super) fn is_ending(&self) -> bool {
        self.ending.get()
    }

    async fn emptied(&self) {
        while self.connections.get() > 0 {
            self.left.notified().await;
        }
    }
}

/// A connection's place among those that there may be.
pub(super) struct Place {
    pub(super) shared: Rc<Shared>,
}

impl Place {
    fn take(shared: &Rc<Shared>) -> Self {
        shared.connections.set(shared.connections.get() + 1);
        Self { shared: Rc::clone(shared) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.connections.set(self.shared.connections.get() - 1);
        self.shared.left.notify_one();
    }
}

/// While this lives, a connection waits for a request and may be told to end.
pub(super) struct Idle {
    shared: Rc<Shared>,
    number: u64,
    pub(super) dismissed: oneshot::Receiver<&'static str>,
}

impl Idle {
    pub(super) fn new(shared: &Rc<Shared>) -> Self {
        let (connection, dismissed) = oneshot::channel();
        let number = shared.next();
        shared.idle.borrow_mut().insert(number, connection);
        Self { shared: Rc::clone(shared), number, dismissed }
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        drop(self.shared.idle.borrow_mut().remove(&self.number));
    }
}
