//! quinn (quinn-proto) in virtual time: QUIC version 1 (RFC 9000, RFC 9002) in UDP datagrams.
//!
//! Everything is configured as by default but for congestion control, where a variant has another. A datagram is sent alone, as
//! without segmentation offload. MTU discovery begins with datagrams of 1,200 bytes and goes no further than the MTU permits. With
//! the option `mtu-discovery=false` all datagrams may be as long as the MTU permits, and none is a probe.
//!
//! Both sides open a unidirectional stream when their handshake is complete, so each can send without a word of the other. The
//! client closes the connection when it has read all and all of its own data is acknowledged.
//!
//! TLS draws its own random numbers: they change what packets contain, and neither their lengths nor their times. So the
//! certificate's key is Ed25519, whose signatures all have one length.

use super::{
    udp::{Socket, longest_payload},
    version,
};
use bytes::{Bytes, BytesMut};
use quinn_proto::{
    AcceptError, ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint,
    Endpoint, EndpointConfig, Event, MtuDiscoveryConfig, QlogConfig, ReadError, ServerConfig, StreamEvent, StreamId,
    Transmit, TransportConfig, VarInt, WriteError,
    congestion::{BbrConfig, NewRenoConfig},
    rustls::{RootCertStore, pki_types::PrivatePkcs8KeyDer},
};
use rcgen::{CertificateParams, KeyPair};
use recoup_guest::{About, Counters, Ended, Failed, Guest, Input, Setup, Status, Transport};
use recoup_units::Instant;
use recoup_wire::Ecn;
use std::{fs::File, io::BufWriter, sync::Arc, time};

/// The name in the server's certificate.
const NAME: &str = "localhost";

/// An Ed25519 private key in PKCS #8 (RFC 8410 §7), before its 32 bytes.
const KEY_PREFIX: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/// The bytes that are taken from the stream before the application asks for them: quinn does not say how many are there.
const AHEAD: u64 = 64 << 10;

/// The bytes that one write may try: quinn does not say how many it would take.
const CHUNK: usize = 64 << 10;

/// The smallest datagram that every path must carry (RFC 9000 §14).
const SMALLEST: u16 = 1200;

/// The longest datagram that quinn accepts by default.
const MOST_ACCEPTED: u16 = 1472;

/// The application's error codes.
const DONE: VarInt = VarInt::from_u32(0);
const GIVEN_UP: VarInt = VarInt::from_u32(1);

/// A congestion control of quinn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    Cubic,
    NewReno,
    Bbr,
}

/// A host with one connection.
pub struct Quinn {
    about: About,
    setup: Setup,
    /// The start of virtual time. Only differences to it are ever used.
    start: time::Instant,
    endpoint: Endpoint,
    client: ClientConfig,
    server: Arc<ServerConfig>,
    socket: Socket,
    connection: Option<(ConnectionHandle, Connection)>,
    application: Application,
}

/// The application's side of the connection.
#[derive(Debug, Default)]
struct Application {
    is_client: bool,
    open: bool,
    sending: Option<StreamId>,
    receiving: Option<StreamId>,
    /// A write was refused, and nothing said yet that another would not be.
    blocked: bool,
    closing: bool,
    /// All that it sent, and its end, is acknowledged.
    all_acknowledged: bool,
    /// Bytes that were taken from the stream and not yet read.
    held: u64,
    /// The stream's end was taken.
    at_end: bool,
    outcome: Option<Ended>,
}

impl Quinn {
    /// With this congestion control.
    ///
    /// # Errors
    /// When there is an unknown option, the MTU is too small for QUIC, or the file of `qlog` cannot be written.
    pub fn new(setup: &Setup, control: Control) -> Result<Self, Failed> {
        setup.only_options(&["mtu-discovery", "qlog"])?;
        let discovers = setup.option("mtu-discovery", "true or false")?.unwrap_or(true);
        let start = time::Instant::now();
        let transport = Arc::new(transport(setup, control, discovers, start)?);
        let (mut client, mut server) = encryption()?;
        client.transport_config(transport.clone());
        server.transport_config(transport);
        let mut config = EndpointConfig::default();
        config.rng_seed(Some(random_seed(setup)));
        let endpoint = Endpoint::new(Arc::new(config), None, true, None);
        let control = match control {
            Control::Cubic => "CUBIC, its default",
            Control::NewReno => "NewReno",
            Control::Bbr => "BBR",
        };
        let discovery = match discovers {
            true => "MTU discovery from 1,200 bytes, its default",
            false => "no MTU discovery",
        };
        let about = About {
            name: "quinn".into(),
            version: version("quinn-proto"),
            transport: Transport::Quic,
            configuration: format!(
                "{control}; one unidirectional stream each way; {discovery}; no segmentation offload"
            ),
            repeatable: true,
        };
        Ok(Self {
            about,
            setup: setup.clone(),
            start,
            endpoint,
            client,
            server: Arc::new(server),
            socket: Socket::new(setup.local),
            connection: None,
            application: Application::default(),
        })
    }

    /// The input, before the connection does what it can because of it. Returns the bytes written or read.
    fn act(&mut self, now: time::Instant, input: Input<'_>, packets: &mut Vec<Vec<u8>>) -> Result<u64, Failed> {
        match input {
            Input::Connect => {
                let connect = self.endpoint.connect(now, self.client.clone(), self.setup.peer, NAME);
                self.connection = Some(connect.map_err(Failed::new)?);
                self.application.is_client = true;
            }
            Input::Listen => self.endpoint.set_server_config(Some(self.server.clone())),
            Input::Packet(packet) => self.arrive(now, packet, packets)?,
            Input::Write(bytes) => return Ok(self.write(bytes)),
            Input::Read(bytes) => {
                let taken = bytes.min(self.application.held);
                self.application.held -= taken;
                return Ok(taken);
            }
            Input::Close => self.application.closing = true,
            Input::Reset => self.close(now, GIVEN_UP, Ended::Reset),
            Input::Wake => {}
        }
        Ok(0)
    }

    fn arrive(&mut self, now: time::Instant, packet: &[u8], packets: &mut Vec<Vec<u8>>) -> Result<(), Failed> {
        let Some(datagram) = self.socket.datagram(packet) else { return Ok(()) };
        let (source, payload) = (datagram.source, BytesMut::from(datagram.payload));
        let ecn = EcnCodepoint::from_bits(datagram.ecn.ip_bits());
        let mut answer = Vec::new();
        match self.endpoint.handle(now, source, None, ecn, payload, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) if self.connection.is_none() => {
                match self.endpoint.accept(incoming, now, &mut answer, None) {
                    Ok(connection) => self.connection = Some(connection),
                    Err(AcceptError { response: Some(transmit), .. }) => self.send(&transmit, &answer, packets)?,
                    Err(AcceptError { response: None, .. }) => {}
                }
            }
            // This host has one connection.
            Some(DatagramEvent::NewConnection(incoming)) => self.endpoint.ignore(incoming),
            Some(DatagramEvent::Response(transmit)) => self.send(&transmit, &answer, packets)?,
            None => {}
        }
        Ok(())
    }

    fn send(&mut self, transmit: &Transmit, payload: &[u8], packets: &mut Vec<Vec<u8>>) -> Result<(), Failed> {
        let ecn = transmit.ecn.map_or(Ecn::NONE, |ecn| Ecn::from_ip(ecn as u8));
        packets.push(self.socket.packet(transmit.destination, ecn, payload)?);
        Ok(())
    }

    fn write(&mut self, bytes: u64) -> u64 {
        let (Some((_, connection)), Some(stream)) = (&mut self.connection, self.application.sending) else { return 0 };
        let mut taken = 0;
        while taken < bytes && !self.application.blocked && !self.application.closing {
            let len = usize::try_from(bytes - taken).map_or(CHUNK, |left| left.min(CHUNK));
            match connection.send_stream(stream).write(&[7; CHUNK][..len]) {
                Ok(written) => taken += written as u64,
                Err(WriteError::Blocked | WriteError::Stopped(_) | WriteError::ClosedStream) => {
                    self.application.blocked = true;
                }
            }
        }
        taken
    }

    fn close(&mut self, now: time::Instant, code: VarInt, outcome: Ended) {
        if let Some((_, connection)) = &mut self.connection {
            connection.close(now, code, Bytes::new());
        }
        self.application.outcome.get_or_insert(outcome);
    }

    /// Whether nothing more will happen to the connection.
    fn is_over(&self) -> bool {
        match &self.connection {
            Some((_, connection)) => connection.is_drained(),
            None => self.application.outcome.is_some(),
        }
    }

    /// Lets the connection do all that is due.
    fn drive(&mut self, now: time::Instant, packets: &mut Vec<Vec<u8>>) -> Result<(), Failed> {
        let mut datagram = Vec::new();
        loop {
            let mut busy = false;
            let Self { connection, endpoint, application, .. } = self;
            let Some((handle, connection)) = connection else { return Ok(()) };
            if !connection.is_drained() && connection.poll_timeout().is_some_and(|at| at <= now) {
                connection.handle_timeout(now);
                busy = true;
            }
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
                busy = true;
            }
            while let Some(event) = connection.poll() {
                application.on_event(connection, event);
                busy = true;
            }
            application.take_ahead(connection);
            application.finish(connection);
            if application.is_done() && !connection.is_closed() {
                self.close(now, DONE, Ended::Closed);
                busy = true;
            }
            while let Some((_, connection)) = &mut self.connection {
                datagram.clear();
                let Some(transmit) = connection.poll_transmit(now, 1, &mut datagram) else { break };
                self.send(&transmit, &datagram, packets)?;
                busy = true;
            }
            if !busy {
                return Ok(());
            }
        }
    }

    fn status(&mut self, taken: u64) -> Status {
        let is_over = self.is_over();
        let wake = match &mut self.connection {
            Some((_, connection)) if !is_over => connection.poll_timeout(),
            _ => None,
        };
        let nanos = |at: time::Instant| u64::try_from(at.saturating_duration_since(self.start).as_nanos());
        let Application { open, blocked, closing, sending, held, at_end, outcome, .. } = self.application;
        let may_write = sending.is_some() && !blocked && !closing && !is_over;
        Status {
            wake: wake.map(|at| Instant::from_nanos(nanos(at).unwrap_or(u64::MAX))),
            open,
            readable: held,
            writable: if may_write { CHUNK as u64 } else { 0 },
            finished: at_end && held == 0,
            ended: if is_over { outcome.or(Some(Ended::Reset)) } else { None },
            taken,
        }
    }
}

impl Application {
    fn on_event(&mut self, connection: &mut Connection, event: Event) {
        match event {
            Event::Connected => {
                self.open = true;
                self.sending = connection.streams().open(Dir::Uni);
            }
            Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                self.receiving = self.receiving.or_else(|| connection.streams().accept(Dir::Uni));
            }
            Event::Stream(StreamEvent::Writable { .. }) => self.blocked = false,
            Event::Stream(StreamEvent::Finished { .. }) => self.all_acknowledged = true,
            Event::ConnectionLost { reason } => {
                // A close that got lost leaves the peer with a timer only.
                let complete = self.at_end && self.all_acknowledged;
                self.outcome.get_or_insert(match reason {
                    ConnectionError::ApplicationClosed(close) if close.error_code == DONE => Ended::Closed,
                    ConnectionError::TimedOut if complete => Ended::Closed,
                    ConnectionError::TimedOut => Ended::TimedOut,
                    _ => Ended::Reset,
                });
            }
            _ => {}
        }
    }

    /// Takes what is there from the stream, so that it can be counted.
    fn take_ahead(&mut self, connection: &mut Connection) {
        let Some(id) = self.receiving.filter(|_| !self.at_end) else { return };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while self.held < AHEAD {
            match chunks.next((AHEAD - self.held) as usize) {
                Ok(Some(chunk)) => self.held += chunk.bytes.len() as u64,
                Ok(None) => {
                    self.at_end = true;
                    break;
                }
                Err(ReadError::Blocked | ReadError::Reset(_)) => break,
            }
        }
        // What it may send because of this is asked for in any case.
        let _ = chunks.finalize();
    }

    /// Ends the sending stream, if the application closed it.
    fn finish(&mut self, connection: &mut Connection) {
        if let Some(stream) = self.sending.filter(|_| self.closing) {
            // The peer may have stopped it.
            let _ = connection.send_stream(stream).finish();
        }
    }

    /// Whether the client has nothing left to do.
    fn is_done(&self) -> bool {
        self.is_client && self.all_acknowledged && self.at_end && self.held == 0
    }
}

impl Guest for Quinn {
    fn about(&self) -> &About {
        &self.about
    }

    fn step(&mut self, now: Instant, input: Input<'_>, packets: &mut Vec<Vec<u8>>) -> Result<Status, Failed> {
        let at = self.start.checked_add(time::Duration::from_nanos(now.as_nanos()));
        let at = at.ok_or_else(|| Failed::new(format_args!("the time {now} is too late for this machine's clock")))?;
        let taken = self.act(at, input, packets)?;
        self.drive(at, packets)?;
        Ok(self.status(taken))
    }

    fn counters(&self) -> Counters {
        let Some((_, connection)) = &self.connection else { return Counters::default() };
        let path = connection.stats().path;
        Counters {
            lost: Some(path.lost_packets),
            congestion_events: Some(path.congestion_events),
            ..Counters::default()
        }
    }
}

fn transport(
    setup: &Setup,
    control: Control,
    discovers: bool,
    start: time::Instant,
) -> Result<TransportConfig, Failed> {
    let mut transport = TransportConfig::default();
    let longest = longest_payload(setup);
    if longest < SMALLEST {
        let least = setup.mtu + (SMALLEST - longest);
        return Err(Failed::new(format_args!("an MTU of {} bytes: expected {least} or more for QUIC", setup.mtu)));
    }
    // quinn's own upper bound is below that of an Ethernet link.
    const DEFAULT_BOUND: u16 = 1452;
    if !discovers {
        transport.initial_mtu(longest.min(MOST_ACCEPTED)).mtu_discovery_config(None);
    } else if longest < DEFAULT_BOUND {
        let mut discovery = MtuDiscoveryConfig::default();
        discovery.upper_bound(longest);
        transport.mtu_discovery_config(Some(discovery));
    }
    match control {
        Control::Cubic => {}
        Control::NewReno => {
            transport.congestion_controller_factory(Arc::new(NewRenoConfig::default()));
        }
        Control::Bbr => {
            transport.congestion_controller_factory(Arc::new(BbrConfig::default()));
        }
    }
    if let Some(path) = setup.options.get("qlog") {
        let failed = |error| Failed::new(format_args!("option qlog: create `{path}`: {error}"));
        let mut qlog = QlogConfig::default();
        qlog.writer(Box::new(BufWriter::new(File::create(path).map_err(failed)?))).start_time(start);
        transport.qlog_stream(qlog.into_stream());
    }
    Ok(transport)
}

/// TLS with a certificate that is always the same.
fn encryption() -> Result<(ClientConfig, ServerConfig), Failed> {
    let failed = |error: &dyn ToString| Failed::new(format_args!("TLS: {}", error.to_string()));
    let key = PrivatePkcs8KeyDer::from([&KEY_PREFIX[..], &[7; 32]].concat());
    let pair = KeyPair::try_from(&key).map_err(|error| failed(&error))?;
    let parameters = CertificateParams::new([NAME.to_owned()]).map_err(|error| failed(&error))?;
    let certificate = parameters.self_signed(&pair).map_err(|error| failed(&error))?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der().clone()).map_err(|error| failed(&error))?;
    let client = ClientConfig::with_root_certificates(Arc::new(roots)).map_err(|error| failed(&error))?;
    let server = ServerConfig::with_single_cert(vec![certificate.der().clone()], key.into());
    Ok((client, server.map_err(|error| failed(&error))?))
}

/// quinn's seed: the caller's, and the host's address, which tells the two sides apart.
fn random_seed(setup: &Setup) -> [u8; 32] {
    let mut seed = [0; 32];
    let local = format!("{}{}", setup.local.port(), setup.local.ip());
    let bytes = setup.seed.to_le_bytes().into_iter().chain(local.into_bytes());
    seed.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
    seed
}
