//! Headers of packets as Parquet: a column for each field, so that other tools can read them too.
//!
//! A packet that is read is the one that was written. Numbers are in the columns of [`COLUMNS`]; SACK blocks are
//! the only field in a binary form: 8 bytes a block, both sequence numbers with the highest byte first. Columns are
//! packed by Snappy, and numbers that go up, or are near the one before, as differences.

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use recoup_trace::read::{CapturedPacket, Message, Packet, Tunnel};
use recoup_units::Instant;
use recoup_wire::{Ecn, Flags, SackBlocks, SeqNumber, Timestamps};
use std::fs::File;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

/// Packets in a row group: as many are in memory at once.
const GROUP: usize = 1 << 14;

/// A field of packets in a column of its own: how it is taken from a packet and put into one.
enum Field {
    /// A number of 64 bits.
    Wide(fn(&CapturedPacket) -> u64, fn(&mut CapturedPacket, u64)),
    /// Nanoseconds since 1970.
    Time(fn(&CapturedPacket) -> u64, fn(&mut CapturedPacket, u64)),
    /// A number of at most 32 bits without a sign.
    Number(fn(&CapturedPacket) -> u32, fn(&mut CapturedPacket, u32)),
    OptionalNumber(fn(&CapturedPacket) -> Option<u32>, fn(&mut CapturedPacket, u32)),
    Flag(fn(&CapturedPacket) -> bool, fn(&mut CapturedPacket, bool)),
    OptionalFlag(fn(&CapturedPacket) -> Option<bool>, fn(&mut CapturedPacket, bool)),
    /// An address as text.
    Address(fn(&CapturedPacket) -> IpAddr, fn(&mut CapturedPacket, IpAddr)),
    /// The SACK blocks.
    Blocks,
}

use Field::{Address, Blocks, Flag, Number, OptionalFlag, OptionalNumber, Time, Wide};

/// Names and fields.
const COLUMNS: [(&str, Field); 27] = [
    ("frame", Wide(|p| p.frame, |p, n| p.frame = n)),
    ("time", Time(|p| p.at.as_nanos(), |p, n| p.at = Instant::from_nanos(n))),
    ("src", Address(|p| p.endpoints.src.ip(), |p, ip| p.endpoints.src.set_ip(ip))),
    ("src_port", Number(|p| p.endpoints.src.port().into(), |p, n| p.endpoints.src.set_port(n as u16))),
    ("dst", Address(|p| p.endpoints.dst.ip(), |p, ip| p.endpoints.dst.set_ip(ip))),
    ("dst_port", Number(|p| p.endpoints.dst.port().into(), |p, n| p.endpoints.dst.set_port(n as u16))),
    ("seq", Number(|p| p.segment.seq.0, |p, n| p.segment.seq = SeqNumber(n))),
    ("ack", Number(|p| p.segment.ack.0, |p, n| p.segment.ack = SeqNumber(n))),
    ("flags", Number(|p| p.segment.flags.bits().into(), |p, n| p.segment.flags = Flags::from_bits(n as u8))),
    ("window", Number(|p| p.segment.window.into(), |p, n| p.segment.window = n as u16)),
    ("payload_len", Number(|p| p.segment.payload_len, |p, n| p.segment.payload_len = n)),
    (
        "timestamp",
        OptionalNumber(
            |p| Some(p.segment.options.timestamps?.value),
            |p, value| p.segment.options.timestamps = Some(Timestamps { value, echo: 0 }),
        ),
    ),
    (
        "timestamp_echo",
        OptionalNumber(
            |p| Some(p.segment.options.timestamps?.echo),
            |p, echo| p.segment.options.timestamps.iter_mut().for_each(|both| both.echo = echo),
        ),
    ),
    ("sack", Blocks),
    ("mss", OptionalNumber(|p| Some(p.segment.options.mss?.into()), |p, n| p.segment.options.mss = Some(n as u16))),
    (
        "window_scale",
        OptionalNumber(
            |p| Some(p.segment.options.window_scale?.into()),
            |p, n| p.segment.options.window_scale = Some(n as u8),
        ),
    ),
    ("sack_permitted", Flag(|p| p.segment.options.sack_permitted, |p, is| p.segment.options.sack_permitted = is)),
    ("ip_id", OptionalNumber(|p| Some(p.ip_id?.into()), |p, n| p.ip_id = Some(n as u16))),
    ("hop_limit", Number(|p| p.hop_limit.into(), |p, n| p.hop_limit = n as u8)),
    ("ecn", Number(|p| p.ecn.bits().into(), |p, n| p.ecn = Ecn::from_bits(n as u8))),
    ("options_complete", Flag(|p| p.options_complete, |p, is| p.options_complete = is)),
    ("overlong", Flag(|p| p.overlong, |p, is| p.overlong = is)),
    ("outgoing", OptionalFlag(|p| p.outgoing, |p, is| p.outgoing = Some(is))),
    ("interface", Number(|p| p.interface, |p, n| p.interface = n)),
    ("link", Number(|p| p.link, |p, n| p.link = n)),
    (
        "path_mtu",
        OptionalNumber(|p| Some(u16::from(p.message?).into()), |p, n| p.message = Some(Message::from(n as u16))),
    ),
    ("tunnel", Wide(|p| p.tunnel.bits(), |p, bits| p.tunnel = Tunnel::from_bits(bits))),
];

impl Field {
    const fn is_optional(&self) -> bool {
        matches!(self, OptionalNumber(..) | OptionalFlag(..) | Blocks)
    }

    fn types(&self) -> (Physical, Option<LogicalType>) {
        match self {
            Wide(..) => (Physical::INT64, None),
            Time(..) => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::NANOS))),
            Number(..) | OptionalNumber(..) => (Physical::INT32, Some(LogicalType::integer(32, false))),
            Flag(..) | OptionalFlag(..) => (Physical::BOOLEAN, None),
            Address(..) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Blocks => (Physical::BYTE_ARRAY, None),
        }
    }
}

fn schema() -> Result<Arc<Type>, ParquetError> {
    let fields = COLUMNS.iter().map(|(name, field)| {
        let (physical, logical) = field.types();
        let repetition = if field.is_optional() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let column = Type::primitive_type_builder(name, physical);
        column.with_repetition(repetition).with_logical_type(logical).build().map(Arc::new)
    });
    let fields = fields.collect::<Result<_, _>>()?;
    Type::group_type_builder("packets").with_fields(fields).build().map(Arc::new)
}

fn properties() -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk);
    // Few packets share these numbers, so a dictionary does not pay.
    for name in ["frame", "time", "seq", "ack", "timestamp", "timestamp_echo", "ip_id"] {
        let column = ColumnPath::from(name);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

/// Writes packets.
pub(super) struct PacketWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    /// Those of the next row group.
    packets: Vec<CapturedPacket>,
}

impl<W: Write + Send> PacketWriter<W> {
    pub fn new(out: W) -> io::Result<Self> {
        let file = SerializedFileWriter::new(out, schema().map_err(other)?, Arc::new(properties()));
        Ok(Self { file: file.map_err(other)?, packets: Vec::new() })
    }

    pub fn write(&mut self, packet: &Packet) -> io::Result<()> {
        self.packets.push(CapturedPacket::from(packet));
        match self.packets.len() >= GROUP {
            true => self.write_group(),
            false => Ok(()),
        }
    }

    fn write_group(&mut self) -> io::Result<()> {
        if self.packets.is_empty() {
            return Ok(());
        }
        let mut group = self.file.next_row_group().map_err(other)?;
        for (_, field) in &COLUMNS {
            field.write(&self.packets, &mut group).map_err(other)?;
        }
        group.close().map_err(other)?;
        self.packets.clear();
        Ok(())
    }

    /// Completes the file.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_group()?;
        self.file.into_inner().map_err(other)
    }
}

impl Field {
    fn write<W: Write + Send>(
        &self,
        packets: &[CapturedPacket],
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let packets = packets.iter();
        match *self {
            Wide(of, _) | Time(of, _) => write::<Int64Type>(packets.map(|p| Some(of(p) as i64)), false, group),
            Number(of, _) => write::<Int32Type>(packets.map(|p| Some(of(p) as i32)), false, group),
            OptionalNumber(of, _) => write::<Int32Type>(packets.map(|p| Some(of(p)? as i32)), true, group),
            Flag(of, _) => write::<BoolType>(packets.map(|p| Some(of(p))), false, group),
            OptionalFlag(of, _) => write::<BoolType>(packets.map(of), true, group),
            Address(of, _) => {
                let mut text = recent(|ip: &IpAddr| Ok(ByteArray::from(ip.to_string().into_bytes())));
                write::<ByteArrayType>(packets.map(|p| text(of(p)).ok()), false, group)
            }
            Blocks => {
                let bytes = |packet: &CapturedPacket| {
                    let ends = packet.segment.options.sack.iter().flatten();
                    let bytes: Vec<u8> = ends.flat_map(|end| end.0.to_be_bytes()).collect();
                    (!bytes.is_empty()).then(|| bytes.into())
                };
                write::<ByteArrayType>(packets.map(bytes), true, group)
            }
        }
    }

    fn read(
        &self,
        packets: &mut [CapturedPacket],
        column: usize,
        group: &dyn RowGroupReader,
    ) -> Result<(), ParquetError> {
        let column = group.get_column_reader(column)?;
        match *self {
            Wide(_, put) | Time(_, put) => read::<Int64Type>(packets, false, column, always(|p, n| put(p, n as u64))),
            Number(_, put) => read::<Int32Type>(packets, false, column, always(|p, n| put(p, n as u32))),
            OptionalNumber(_, put) => read::<Int32Type>(packets, true, column, always(|p, n| put(p, n as u32))),
            Flag(_, put) => read::<BoolType>(packets, false, column, always(put)),
            OptionalFlag(_, put) => read::<BoolType>(packets, true, column, always(put)),
            Address(_, put) => {
                let mut address = recent(|text: &ByteArray| {
                    let ip = text.as_utf8().ok().and_then(|text| text.parse::<IpAddr>().ok());
                    ip.ok_or_else(|| ParquetError::General("an address is wrong".into()))
                });
                read::<ByteArrayType>(packets, false, column, |p, text| {
                    put(p, address(text)?);
                    Ok(())
                })
            }
            Blocks => {
                read::<ByteArrayType>(packets, true, column, always(|p, bytes| p.segment.options.sack = sack(&bytes)))
            }
        }
    }
}

/// Converts values and remembers the latest results, because neighbouring packets have the same addresses.
fn recent<K: PartialEq, V: Clone>(
    convert: impl Fn(&K) -> Result<V, ParquetError>,
) -> impl FnMut(K) -> Result<V, ParquetError> {
    let mut latest: Vec<(K, V)> = Vec::new();
    move |key| {
        if let Some((_, value)) = latest.iter().find(|(known, _)| *known == key) {
            return Ok(value.clone());
        }
        let value = convert(&key)?;
        latest.truncate(7);
        latest.insert(0, (key, value.clone()));
        Ok(value)
    }
}

fn write<T: DataType>(
    cells: impl Iterator<Item = Option<T::T>>,
    is_optional: bool,
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
) -> Result<(), ParquetError> {
    let cells: Vec<Option<T::T>> = cells.collect();
    let levels: Vec<i16> = cells.iter().map(|cell| cell.is_some().into()).collect();
    let values: Vec<T::T> = cells.into_iter().flatten().collect();
    let column = group.next_column()?;
    let mut column = column.ok_or_else(|| ParquetError::General("too many columns".into()))?;
    column.typed::<T>().write_batch(&values, is_optional.then_some(&*levels), None)?;
    column.close()
}

/// A change that cannot fail.
fn always<T>(put: impl Fn(&mut CapturedPacket, T)) -> impl FnMut(&mut CapturedPacket, T) -> Result<(), ParquetError> {
    move |packet, value| {
        put(packet, value);
        Ok(())
    }
}

/// Puts the values of a column into packets.
fn read<T: DataType>(
    packets: &mut [CapturedPacket],
    is_optional: bool,
    column: ColumnReader,
    mut put: impl FnMut(&mut CapturedPacket, T::T) -> Result<(), ParquetError>,
) -> Result<(), ParquetError> {
    let mut column: ColumnReaderImpl<T> = get_typed_column_reader(column);
    let (mut values, mut levels) = (Vec::with_capacity(packets.len()), Vec::new());
    column.read_records(packets.len(), is_optional.then_some(&mut levels), None, &mut values)?;
    if !is_optional {
        levels = vec![1; values.len()];
    }
    if levels.len() != packets.len() {
        return Err(ParquetError::General("rows are missing".into()));
    }
    let present = packets.iter_mut().zip(levels).filter(|(_, level)| *level == 1);
    present.zip(values).try_for_each(|((packet, _), value)| put(packet, value))
}

/// Reads packets in the order in which they were written.
pub(super) struct PacketReader {
    file: SerializedFileReader<File>,
    name: String,
    /// The next row group.
    group: usize,
    packets: std::vec::IntoIter<Packet>,
}

impl PacketReader {
    pub fn open(path: &Path) -> io::Result<Self> {
        let name = path.display().to_string();
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
        let file = SerializedFileReader::new(File::open(path).map_err(named)?).map_err(|error| named(other(error)))?;
        if file.metadata().file_metadata().schema() != &*schema().map_err(other)? {
            let text = format!("{name}: expected a file of packets of this version");
            return Err(io::Error::other(text));
        }
        Ok(Self { file, name, group: 0, packets: Vec::new().into_iter() })
    }

    /// Moves the next packet to `packet`; `false` if there is none.
    pub fn next_into(&mut self, packet: &mut Packet) -> io::Result<bool> {
        loop {
            if let Some(next) = self.packets.next() {
                *packet = next;
                return Ok(true);
            }
            if self.group == self.file.num_row_groups() {
                return Ok(false);
            }
            let group = self
                .file
                .get_row_group(self.group)
                .and_then(|group| read_group(&*group))
                .map_err(|error| io::Error::other(format!("{}: {error}", self.name)))?;
            self.packets = group.into_iter();
            self.group += 1;
        }
    }
}

fn read_group(group: &dyn RowGroupReader) -> Result<Vec<Packet>, ParquetError> {
    let rows = usize::try_from(group.metadata().num_rows()).unwrap_or_default();
    let mut packets = vec![CapturedPacket::from(&Packet::default()); rows];
    for (column, (_, field)) in COLUMNS.iter().enumerate() {
        field.read(&mut packets, column, group)?;
    }
    Ok(packets.iter().map(Packet::from).collect())
}

fn sack(bytes: &ByteArray) -> SackBlocks {
    let ends: Vec<SeqNumber> = bytes
        .data()
        .chunks_exact(4)
        .map(|end| SeqNumber(end.iter().fold(0, |all, &byte| all << 8 | u32::from(byte))))
        .collect();
    ends.chunks_exact(2).map(|block| [block[0], block[1]]).collect()
}

fn other(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests;
