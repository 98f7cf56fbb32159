//! sctp-proto in virtual time: SCTP (RFC 9260) in UDP datagrams (RFC 6951).
//!
//! Everything is configured as by default: it is made for WebRTC, below DTLS in UDP, so its packets are no longer than 1,228
//! bytes. The application writes ordered, reliable messages of up to 16 KiB on stream 0. SCTP has no half-closed associations: who closes
//! sends an empty message (RFC 8831 §6.6), and the client shuts the association down when both sides did so and
//! all of its own data is acknowledged. sctp-proto offers no ABORT: who gives up falls silent.
//!
//! The crate reads the clock once, for the timer of the first INIT: virtual time begins so that this timer is right. It draws its
//! own random tags and sequence numbers: they change what packets contain, and neither their lengths nor their times.

use super::{
    udp::{Socket, longest_payload},
    version,
};
use bytes::Bytes;
use recoup_guest::{About, Counters, Ended, Failed, Guest, Input, Setup, Status, Transport};
use recoup_units::Instant;
use recoup_wire::Ecn;
use sctp_proto::{
    Association, AssociationError, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, Event, Payload,
    PayloadProtocolIdentifier as Identifier, ServerConfig, StreamEvent, Transmit,
};
use std::{
    sync::Arc,
    time::{self, Duration},
};

/// The stream of all data.
const STREAM: u16 = 0;

/// The longest message, in bytes.
const MESSAGE: u64 = 16 << 10;

/// The bytes that may wait to be sent or acknowledged: sctp-proto has no limit.
const BUFFER: u64 = 1 << 20;

/// The bytes that are taken from the stream before the application asks for them: sctp-proto does not say how many are there.
const AHEAD: u64 = 64 << 10;

/// The timeout of the first INIT, by default.
const INITIAL_TIMEOUT: Duration = Duration::from_secs(3);

/// Bytes of the common header and of a DATA chunk's.
const HEADERS: u32 = 12 + 16;

/// A host with one association.
pub struct Sctp {
    about: About,
    setup: Setup,
    /// The start of virtual time. Only differences to it are ever used.
    start: time::Instant,
    endpoint: Endpoint,
    socket: Socket,
    listening: bool,
    association: Option<Association>,
    application: Application,
}

/// The application's side of the association.
#[derive(Debug, Default)]
struct Application {
    is_client: bool,
    open: bool,
    closing: bool,
    end_sent: bool,
    /// Bytes that were taken from the stream and not yet read.
    held: u64,
    /// The peer's empty message was taken.
    at_end: bool,
    outcome: Option<Ended>,
}

impl Sctp {
    /// A host before its first input.
    ///
    /// # Errors
    /// When options are asked for, or the MTU has no room for data.
    pub fn new(setup: &Setup) -> Result<Self, Failed> {
        setup.only_options(&[])?;
        let mut config = EndpointConfig::new();
        let room = u32::from(longest_payload(setup)).saturating_sub(HEADERS);
        if room == 0 {
            return Err(Failed::new(format_args!("an MTU of {} bytes has no room for SCTP", setup.mtu)));
        }
        config.max_payload_size(room.min(config.get_max_payload_size()));
        let endpoint = Endpoint::new(Arc::new(config), Some(Arc::new(ServerConfig::default())));
        let about = About {
            name: "sctp-proto".into(),
            version: version("sctp-proto"),
            transport: Transport::Sctp,
            configuration: "ordered messages of up to 16 KiB on one stream, in UDP; packets of up to 1,228 bytes and \
                            an RTO of 1 s or more, its defaults"
                .into(),
            repeatable: true,
        };
        Ok(Self {
            about,
            setup: setup.clone(),
            start: time::Instant::now(),
            endpoint,
            socket: Socket::new(setup.local),
            listening: false,
            association: None,
            application: Application::default(),
        })
    }

    /// The input, before the association does what it can because of it. Returns the bytes written or read.
    fn act(&mut self, now: Instant, input: Input<'_>) -> Result<u64, Failed> {
        match input {
            Input::Connect => {
                let connect = self.endpoint.connect(ClientConfig::default(), self.setup.peer);
                let (_, association) = connect.map_err(Failed::new)?;
                let since_start = INITIAL_TIMEOUT + Duration::from_nanos(now.as_nanos());
                if let Some(start) = association.poll_timeout().and_then(|at| at.checked_sub(since_start)) {
                    self.start = start;
                }
                self.association = Some(association);
                self.application.is_client = true;
            }
            Input::Listen => self.listening = true,
            Input::Packet(packet) => self.arrive(self.at(now)?, packet),
            Input::Write(bytes) => return Ok(self.write(bytes)),
            Input::Read(bytes) => {
                let taken = bytes.min(self.application.held);
                self.application.held -= taken;
                return Ok(taken);
            }
            Input::Close => self.application.closing = true,
            Input::Reset => {
                if let Some(association) = &mut self.association {
                    // It never fails.
                    let _ = association.close();
                }
                self.application.outcome.get_or_insert(Ended::Reset);
            }
            Input::Wake => {}
        }
        Ok(0)
    }

    fn at(&self, now: Instant) -> Result<time::Instant, Failed> {
        let at = self.start.checked_add(Duration::from_nanos(now.as_nanos()));
        at.ok_or_else(|| Failed::new(format_args!("the time {now} is too late for this machine's clock")))
    }

    fn arrive(&mut self, now: time::Instant, packet: &[u8]) {
        if !self.listening && self.association.is_none() {
            return;
        }
        let Some(datagram) = self.socket.datagram(packet) else { return };
        let payload = Bytes::copy_from_slice(datagram.payload);
        match self.endpoint.handle(now, datagram.source, None, None, payload) {
            Some((_, DatagramEvent::AssociationEvent(event))) => {
                if let Some(association) = &mut self.association {
                    association.handle_event(event);
                }
            }
            // This host has one association.
            Some((_, DatagramEvent::NewAssociation(association))) => {
                self.association.get_or_insert(association);
            }
            None => {}
        }
    }

    fn write(&mut self, bytes: u64) -> u64 {
        let room = self.room();
        let Some(association) = &mut self.association else { return 0 };
        let Ok(mut stream) = association.stream(STREAM) else { return 0 };
        let (most, mut taken) = (bytes.min(room), 0);
        while taken < most {
            let message = vec![7; (most - taken).min(MESSAGE) as usize];
            match stream.write_with_ppi(&message, Identifier::Binary) {
                Ok(written) if written > 0 => taken += written as u64,
                Ok(_) | Err(_) => break,
            }
        }
        taken
    }

    /// The bytes that a write would take.
    fn room(&mut self) -> u64 {
        let Application { open, closing, outcome, .. } = self.application;
        let Some(association) = self.association.as_mut().filter(|_| open && !closing && outcome.is_none()) else {
            return 0;
        };
        let buffered = association.stream(STREAM).and_then(|stream| stream.buffered_amount());
        buffered.map_or(0, |buffered| BUFFER.saturating_sub(buffered as u64))
    }

    /// Lets the association do all that is due.
    fn drive(&mut self, now: time::Instant, packets: &mut Vec<Vec<u8>>) -> Result<(), Failed> {
        loop {
            let Self { association, endpoint, application, socket, .. } = self;
            let Some(association) = association else { return Ok(()) };
            let mut busy = false;
            if association.poll_timeout().is_some_and(|at| at <= now) {
                association.handle_timeout(now);
                busy = true;
            }
            // The only event of the endpoint's is that it may forget the association. It says so when the shutdown begins.
            while association.poll_endpoint_event().is_some() {}
            while let Some(event) = association.poll() {
                application.on_event(association, event);
                busy = true;
            }
            application.take_ahead(association);
            application.finish(association);
            while let Some(transmit) = endpoint.poll_transmit().or_else(|| association.poll_transmit(now)) {
                send(socket, &transmit, packets)?;
                busy = true;
            }
            if !busy {
                return Ok(());
            }
        }
    }

    fn status(&mut self, taken: u64) -> Status {
        let writable = self.room();
        let wake = self.association.as_ref().and_then(Association::poll_timeout);
        let nanos = |at: time::Instant| u64::try_from(at.saturating_duration_since(self.start).as_nanos());
        // It does not become closed when it sends SHUTDOWN COMPLETE.
        let is_shut = self.association.as_ref().is_some_and(Association::is_closing) && wake.is_none();
        let Application { open, held, at_end, outcome, .. } = self.application;
        Status {
            wake: wake.map(|at| Instant::from_nanos(nanos(at).unwrap_or(u64::MAX))),
            open,
            readable: held,
            writable,
            finished: at_end && held == 0,
            ended: outcome.or(is_shut.then_some(Ended::Closed)),
            taken,
        }
    }
}

impl Application {
    fn on_event(&mut self, association: &mut Association, event: Event) {
        match event {
            Event::Connected => {
                self.open = true;
                // The peer may have opened it.
                let _ = association.open_stream(STREAM, Identifier::Binary);
            }
            Event::HandshakeFailed { .. } => {
                self.outcome.get_or_insert(Ended::TimedOut);
            }
            Event::AssociationLost { reason } => {
                self.outcome.get_or_insert(match reason {
                    AssociationError::AssociationClosed if self.at_end && self.end_sent => Ended::Closed,
                    AssociationError::TimedOut => Ended::TimedOut,
                    _ => Ended::Reset,
                });
            }
            Event::Stream(StreamEvent::Opened { .. }) => {
                // It is the one stream. What is in it is taken below.
                let _ = association.accept_stream();
            }
            _ => {}
        }
    }

    /// Takes what is there from the stream, so that it can be counted.
    fn take_ahead(&mut self, association: &mut Association) {
        let Ok(mut stream) = association.stream(STREAM) else { return };
        while self.held < AHEAD && !self.at_end {
            let Ok(Some(message)) = stream.read() else { return };
            match message.ppi {
                Identifier::BinaryEmpty => self.at_end = true,
                _ => self.held += message.len() as u64,
            }
        }
    }

    /// Sends the end of this side's data, and begins the shutdown.
    fn finish(&mut self, association: &mut Association) {
        if self.open && self.closing && !self.end_sent {
            let Ok(mut stream) = association.stream(STREAM) else { return };
            // SCTP has no message without bytes.
            self.end_sent = stream.write_with_ppi(&[0], Identifier::BinaryEmpty).is_ok();
        }
        let complete = self.is_client && self.end_sent && self.at_end && self.held == 0;
        if complete && !association.is_closed() && !association.is_closing() {
            let waiting = association.stream(STREAM).and_then(|stream| stream.buffered_amount());
            if waiting.is_ok_and(|bytes| bytes == 0) {
                // It fails only before the association is established.
                let _ = association.shutdown();
            }
        }
    }
}

fn send(socket: &mut Socket, transmit: &Transmit, packets: &mut Vec<Vec<u8>>) -> Result<(), Failed> {
    if let Payload::RawEncode(payloads) = &transmit.payload {
        for payload in payloads {
            packets.push(socket.packet(transmit.remote, Ecn::NONE, payload)?);
        }
    }
    Ok(())
}

impl Guest for Sctp {
    fn about(&self) -> &About {
        &self.about
    }

    fn step(&mut self, now: Instant, input: Input<'_>, packets: &mut Vec<Vec<u8>>) -> Result<Status, Failed> {
        let taken = self.act(now, input)?;
        self.drive(self.at(now)?, packets)?;
        Ok(self.status(taken))
    }

    fn counters(&self) -> Counters {
        let Some(association) = &self.association else { return Counters::default() };
        Counters { timeouts: Some(association.stats().get_num_t3timeouts()), ..Counters::default() }
    }
}
