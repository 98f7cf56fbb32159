//! Headers of packets as Parquet: a column for each field, so that other tools can read them too.
//!
//! A packet that is read is the one that was written. Numbers are in the columns of [`COLUMNS`]; SACK blocks are
//! the only field in a binary form: 8 bytes a block, both sequence numbers with the highest byte first. Columns are
//! packed by Snappy, and numbers that go up, or are near the one before, as differences.

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use recoup_trace::read::{CapturedPacket, Packet};
use recoup_units::Instant;
use recoup_wire::{Endpoints, Flags, Options, SackBlocks, Segment, SeqNumber, Timestamps};
use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

/// Packets in a row group: as many are in memory at once.
const GROUP: usize = 1 << 14;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A number of 64 bits.
    Wide,
    /// Nanoseconds since 1970.
    Time,
    /// A number of at most 32 bits without a sign.
    Number,
    Text,
    Flag,
    Binary,
}

/// Name, type, and whether the column may lack a value.
const COLUMNS: [(&str, Kind, bool); 25] = [
    ("frame", Kind::Wide, false),
    ("time", Kind::Time, false),
    ("src", Kind::Text, false),
    ("src_port", Kind::Number, false),
    ("dst", Kind::Text, false),
    ("dst_port", Kind::Number, false),
    ("seq", Kind::Number, false),
    ("ack", Kind::Number, false),
    ("flags", Kind::Number, false),
    ("window", Kind::Number, false),
    ("payload_len", Kind::Number, false),
    ("timestamp", Kind::Number, true),
    ("timestamp_echo", Kind::Number, true),
    ("sack", Kind::Binary, true),
    ("mss", Kind::Number, true),
    ("window_scale", Kind::Number, true),
    ("sack_permitted", Kind::Flag, false),
    ("ip_id", Kind::Number, true),
    ("hop_limit", Kind::Number, false),
    ("options_complete", Kind::Flag, false),
    ("overlong", Kind::Flag, false),
    ("outgoing", Kind::Flag, true),
    ("interface", Kind::Number, false),
    ("link", Kind::Number, false),
    ("path_mtu", Kind::Number, true),
];

fn schema() -> Result<Arc<Type>, ParquetError> {
    let fields = COLUMNS
        .iter()
        .map(|&(name, kind, optional)| {
            let (physical, logical) = match kind {
                Kind::Wide => (Physical::INT64, None),
                Kind::Time => {
                    let nanoseconds = LogicalType::timestamp(true, TimeUnit::NANOS);
                    (Physical::INT64, Some(nanoseconds))
                }
                Kind::Number => (Physical::INT32, Some(LogicalType::integer(32, false))),
                Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
                Kind::Flag => (Physical::BOOLEAN, None),
                Kind::Binary => (Physical::BYTE_ARRAY, None),
            };
            let repetition = match optional {
                true => Repetition::OPTIONAL,
                false => Repetition::REQUIRED,
            };
            Type::primitive_type_builder(name, physical)
                .with_repetition(repetition)
                .with_logical_type(logical)
                .build()
                .map(Arc::new)
        })
        .collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder("packets").with_fields(fields);
    schema.build().map(Arc::new)
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
        write_columns(&self.packets, &mut group).map_err(other)?;
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

fn write_columns<W: Write + Send>(
    packets: &[CapturedPacket],
    group: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<(), ParquetError> {
    let mut out = ColumnsOut { packets, group };
    out.wide(|p| p.frame)?;
    out.wide(|p| p.at.as_nanos())?;
    out.text(|p| p.endpoints.src.ip())?;
    out.number(|p| p.endpoints.src.port().into())?;
    out.text(|p| p.endpoints.dst.ip())?;
    out.number(|p| p.endpoints.dst.port().into())?;
    out.number(|p| p.segment.seq.0)?;
    out.number(|p| p.segment.ack.0)?;
    out.number(|p| p.segment.flags.bits().into())?;
    out.number(|p| p.segment.window.into())?;
    out.number(|p| p.segment.payload_len)?;
    out.optional(|p| p.segment.options.timestamps.map(|t| t.value))?;
    out.optional(|p| p.segment.options.timestamps.map(|t| t.echo))?;
    out.sack()?;
    out.optional(|p| p.segment.options.mss.map(u32::from))?;
    out.optional(|p| p.segment.options.window_scale.map(u32::from))?;
    out.flag(|p| p.segment.options.sack_permitted)?;
    out.optional(|p| p.ip_id.map(u32::from))?;
    out.number(|p| p.hop_limit.into())?;
    out.flag(|p| p.options_complete)?;
    out.flag(|p| p.overlong)?;
    out.optional_flag(|p| p.outgoing)?;
    out.number(|p| p.interface)?;
    out.number(|p| p.link)?;
    out.optional(|p| p.path_mtu.map(u32::from))
}

/// Writes one column after another.
struct ColumnsOut<'a, 'g, W: Write + Send> {
    packets: &'a [CapturedPacket],
    group: &'a mut SerializedRowGroupWriter<'g, W>,
}

impl<W: Write + Send> ColumnsOut<'_, '_, W> {
    fn write<T: DataType>(&mut self, values: &[T::T], levels: Option<&[i16]>) -> Result<(), ParquetError> {
        let column = self.group.next_column()?;
        let mut column = column.ok_or_else(|| ParquetError::General("too many columns".into()))?;
        column.typed::<T>().write_batch(values, levels, None)?;
        column.close()
    }

    /// 1 where there is a value, 0 where there is none.
    fn write_some<T: DataType>(&mut self, of: impl Fn(&CapturedPacket) -> Option<T::T>) -> Result<(), ParquetError> {
        let cells = || self.packets.iter().map(&of);
        let levels: Vec<i16> = cells().map(|cell| i16::from(cell.is_some())).collect();
        let values: Vec<T::T> = cells().flatten().collect();
        self.write::<T>(&values, Some(&levels))
    }

    fn write_all<T: DataType>(&mut self, of: impl Fn(&CapturedPacket) -> T::T) -> Result<(), ParquetError> {
        let values: Vec<T::T> = self.packets.iter().map(of).collect();
        self.write::<T>(&values, None)
    }

    /// Parquet's numbers have a sign, which means nothing here.
    fn wide(&mut self, of: impl Fn(&CapturedPacket) -> u64) -> Result<(), ParquetError> {
        self.write_all::<Int64Type>(|packet| of(packet) as i64)
    }

    fn number(&mut self, of: impl Fn(&CapturedPacket) -> u32) -> Result<(), ParquetError> {
        self.write_all::<Int32Type>(|packet| of(packet) as i32)
    }

    fn optional(&mut self, of: impl Fn(&CapturedPacket) -> Option<u32>) -> Result<(), ParquetError> {
        self.write_some::<Int32Type>(|packet| of(packet).map(|number| number as i32))
    }

    fn flag(&mut self, of: impl Fn(&CapturedPacket) -> bool) -> Result<(), ParquetError> {
        self.write_all::<BoolType>(of)
    }

    fn optional_flag(&mut self, of: impl Fn(&CapturedPacket) -> Option<bool>) -> Result<(), ParquetError> {
        self.write_some::<BoolType>(of)
    }

    fn text(&mut self, of: impl Fn(&CapturedPacket) -> IpAddr) -> Result<(), ParquetError> {
        // Packets of one connection often follow each other.
        let mut latest: Vec<(IpAddr, ByteArray)> = Vec::new();
        let values: Vec<ByteArray> = self
            .packets
            .iter()
            .map(|packet| {
                let ip = of(packet);
                if let Some((_, text)) = latest.iter().find(|(known, _)| *known == ip) {
                    return text.clone();
                }
                let text = ByteArray::from(ip.to_string().into_bytes());
                latest.truncate(7);
                latest.insert(0, (ip, text.clone()));
                text
            })
            .collect();
        self.write::<ByteArrayType>(&values, None)
    }

    fn sack(&mut self) -> Result<(), ParquetError> {
        self.write_some::<ByteArrayType>(|packet| {
            let blocks = &packet.segment.options.sack;
            let ends = blocks.iter().flatten();
            let bytes: Vec<u8> = ends.flat_map(|end| end.0.to_be_bytes()).collect();
            (!bytes.is_empty()).then(|| bytes.into())
        })
    }
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
    let mut columns = ColumnsIn { group, rows, column: 0 };
    let frames = columns.all::<Int64Type>()?;
    let times = columns.all::<Int64Type>()?;
    let sources = columns.addresses()?;
    let source_ports = columns.all::<Int32Type>()?;
    let destinations = columns.addresses()?;
    let destination_ports = columns.all::<Int32Type>()?;
    let numbers = [(); 5].map(|()| columns.all::<Int32Type>());
    let [seqs, acks, flags, windows, lengths] = numbers;
    let (seqs, acks, flags, windows, lengths) = (seqs?, acks?, flags?, windows?, lengths?);
    let (values, echoes) = (columns.some::<Int32Type>()?, columns.some::<Int32Type>()?);
    let sacks = columns.some::<ByteArrayType>()?;
    let (mss, scales) = (columns.some::<Int32Type>()?, columns.some::<Int32Type>()?);
    let permitted = columns.all::<BoolType>()?;
    let ids = columns.some::<Int32Type>()?;
    let hop_limits = columns.all::<Int32Type>()?;
    let (complete, overlong) = (columns.all::<BoolType>()?, columns.all::<BoolType>()?);
    let outgoing = columns.some::<BoolType>()?;
    let (interfaces, links) = (columns.all::<Int32Type>()?, columns.all::<Int32Type>()?);
    let path_mtus = columns.some::<Int32Type>()?;
    let packet = |i: usize| CapturedPacket {
        frame: frames[i] as u64,
        at: Instant::from_nanos(times[i] as u64),
        endpoints: Endpoints {
            src: SocketAddr::new(sources[i], source_ports[i] as u16),
            dst: SocketAddr::new(destinations[i], destination_ports[i] as u16),
        },
        segment: Segment {
            seq: SeqNumber(seqs[i] as u32),
            ack: SeqNumber(acks[i] as u32),
            flags: Flags::from_bits(flags[i] as u8),
            window: windows[i] as u16,
            payload_len: lengths[i] as u32,
            options: Options {
                timestamps: values[i]
                    .zip(echoes[i])
                    .map(|(value, echo)| Timestamps { value: value as u32, echo: echo as u32 }),
                sack: sacks[i].as_ref().map(sack).unwrap_or(SackBlocks::NONE),
                mss: mss[i].map(|mss| mss as u16),
                window_scale: scales[i].map(|scale| scale as u8),
                sack_permitted: permitted[i],
            },
        },
        ip_id: ids[i].map(|id| id as u16),
        hop_limit: hop_limits[i] as u8,
        options_complete: complete[i],
        overlong: overlong[i],
        outgoing: outgoing[i],
        interface: interfaces[i] as u32,
        link: links[i] as u32,
        path_mtu: path_mtus[i].map(|mtu| mtu as u16),
    };
    Ok((0..rows).map(|i| Packet::from(&packet(i))).collect())
}

fn sack(bytes: &ByteArray) -> SackBlocks {
    let ends: Vec<SeqNumber> = bytes
        .data()
        .chunks_exact(4)
        .map(|end| SeqNumber(end.iter().fold(0, |all, &byte| all << 8 | u32::from(byte))))
        .collect();
    ends.chunks_exact(2).map(|block| [block[0], block[1]]).collect()
}

/// Reads one column after another.
struct ColumnsIn<'a> {
    group: &'a dyn RowGroupReader,
    rows: usize,
    column: usize,
}

impl ColumnsIn<'_> {
    fn next<T: DataType>(&mut self) -> Result<ColumnReaderImpl<T>, ParquetError> {
        let column = self.group.get_column_reader(self.column)?;
        self.column += 1;
        Ok(get_typed_column_reader(column))
    }

    fn all<T: DataType>(&mut self) -> Result<Vec<T::T>, ParquetError> {
        let mut column = self.next::<T>()?;
        let mut values = Vec::with_capacity(self.rows);
        column.read_records(self.rows, None, None, &mut values)?;
        self.checked(values)
    }

    fn some<T: DataType>(&mut self) -> Result<Vec<Option<T::T>>, ParquetError> {
        let mut column = self.next::<T>()?;
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        column.read_records(self.rows, Some(&mut levels), None, &mut values)?;
        let mut values = values.into_iter();
        let cells = levels.iter().map(|level| (*level == 1).then(|| values.next()).flatten());
        self.checked(cells.collect())
    }

    fn checked<T>(&self, cells: Vec<T>) -> Result<Vec<T>, ParquetError> {
        match cells.len() == self.rows {
            true => Ok(cells),
            false => Err(ParquetError::General("rows are missing".into())),
        }
    }

    fn addresses(&mut self) -> Result<Vec<IpAddr>, ParquetError> {
        let texts = self.all::<ByteArrayType>()?;
        let mut latest: Vec<(ByteArray, IpAddr)> = Vec::new();
        let address = |text: ByteArray| {
            if let Some((_, ip)) = latest.iter().find(|(known, _)| *known == text) {
                return Ok(*ip);
            }
            let ip: IpAddr = text
                .as_utf8()
                .ok()
                .and_then(|text| text.parse().ok())
                .ok_or_else(|| ParquetError::General("an address is wrong".into()))?;
            latest.truncate(7);
            latest.insert(0, (text, ip));
            Ok(ip)
        };
        texts.into_iter().map(address).collect()
    }
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
