import { ByteCursor, InvalidBytes } from '#store/level-files/byte-cursor'

export interface NamedTable {
  readonly number: number
  readonly bytes: number
}

/** The result of reading a manifest: the files of the database. */
export interface Manifest {
  /** Logs from this number on are read at the next opening. */
  readonly logNumber: number
  /** This log is read too, unless it is 0. */
  readonly previousLogNumber: number
  readonly lastSequence: number
  readonly tables: readonly NamedTable[]
}

const tags = {
  comparator: 1,
  logNumber: 2,
  nextFileNumber: 3,
  lastSequence: 4,
  compactPointer: 5,
  deletedFile: 6,
  newFile: 7,
  previousLogNumber: 9,
} as const

/** Reads a manifest from its records. @throws InvalidBytes */
export function manifestOf(records: readonly Uint8Array[]): Manifest {
  const tables = new Map<number, NamedTable>()
  const found = { logNumber: Number.NaN, previousLogNumber: 0, lastSequence: Number.NaN }
  for (const record of records) {
    for (const cursor = new ByteCursor(record); cursor.left > 0; ) apply(cursor, tables, found)
  }
  if (Number.isNaN(found.logNumber) || Number.isNaN(found.lastSequence)) throw new InvalidBytes('it ends too soon')
  return { ...found, tables: [...tables.values()] }
}

/** The one record in the manifest of a new database: no table, no log, and file numbers from 2 on are free. */
export function firstManifest(): Uint8Array {
  const comparator = Buffer.from('leveldb.BytewiseComparator')
  return Buffer.concat([
    Buffer.of(tags.comparator, comparator.length),
    comparator,
    Buffer.of(tags.logNumber, 0, tags.nextFileNumber, 2, tags.lastSequence, 0),
  ])
}

function apply(
  cursor: ByteCursor,
  tables: Map<number, NamedTable>,
  found: { -readonly [K in keyof Omit<Manifest, 'tables'>]: Manifest[K] },
): void {
  const tag = cursor.varint()
  switch (tag) {
    case tags.comparator:
      cursor.sized()
      break
    case tags.logNumber:
      found.logNumber = cursor.varint()
      break
    case tags.previousLogNumber:
      found.previousLogNumber = cursor.varint()
      break
    case tags.nextFileNumber:
      cursor.varint()
      break
    case tags.lastSequence:
      found.lastSequence = cursor.varint()
      break
    case tags.compactPointer:
      cursor.varint()
      cursor.sized()
      break
    case tags.deletedFile:
      cursor.varint()
      tables.delete(cursor.varint())
      break
    case tags.newFile: {
      cursor.varint()
      const number = cursor.varint()
      const bytes = cursor.varint()
      tables.set(number, { number, bytes })
      // The smallest and the largest key of the table.
      cursor.sized()
      cursor.sized()
      break
    }
    default:
      throw new InvalidBytes(`an edit of kind ${tag}`)
  }
}
