//! Signals as events: TERM and INT end the service, a second one at once; HUP reads the
//! configuration again.
use crossbeam_channel::Sender;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ},
    iterator::Signals,
};

use super::Wake;
use crate::engine::event::Event;

/// The exit status of a process that a second signal ended.
const AT_ONCE: i32 = 130;

/// Listens until the process ends.
pub(super) fn listen(wakes: Sender<Wake>) -> std::io::Result<()> {
    // A limit on file size is an error like a full disk, not an end.
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGXFSZ])?;
    let listen = move || {
        let mut asked = false;
        for signal in signals.forever() {
            let wake = match signal {
                SIGHUP => Wake::Reload,
                SIGXFSZ => continue,
                _ if asked => std::process::exit(AT_ONCE),
                _ => {
                    asked = true;
                    Wake::Event(Event::Stop)
                }
            };
            if wakes.send(wake).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(listen).map(drop)
}
