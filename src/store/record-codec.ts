import { type Options, Packr, Unpackr } from 'msgpackr'
import type { RecordFormat } from '#runtime/actor'
import { StorageFailure } from '#runtime/storage'

/**
 * Stored values: msgpack with plain maps and arrays only, so that any reader of the format can read them and decoding
 * only creates data.
 */
const packr = new Packr({ useRecords: false, variableMapSize: true, moreTypes: false })
// The package's types lack 'auto': a number when it is safe, otherwise a bigint.
const options = {
  useRecords: false,
  int64AsType: 'auto',
  moreTypes: false,
  structuredClone: false,
} as unknown as Options
const unpackr = new Unpackr(options)

export function pack(value: unknown): Uint8Array {
  return packr.pack(value)
}

export function unpack(bytes: Uint8Array): unknown {
  return unpackr.unpack(bytes)
}

/** `[version, value]`. */
export function packRecord(format: RecordFormat, value: unknown): Uint8Array {
  return pack([format.version, value])
}

/**
 * Unpacks a record, and upgrades an older one to the current version.
 * @throws StorageFailure `damaged` if it is not a record, or has a version that this release does not know.
 */
export function unpackRecord(format: RecordFormat, bytes: Uint8Array): unknown {
  const [stored, value] = versioned(format, bytes)
  let upgraded = value
  for (let version = stored; version < format.version; version++) {
    const upgrade = format.upgrades[version]
    if (!upgrade)
      throw new StorageFailure('damaged', `version ${version} of a stored ${format.name} cannot be upgraded`)
    upgraded = upgrade(upgraded)
  }
  if (!(stored <= format.version)) {
    throw new StorageFailure(
      'damaged',
      `a stored ${format.name} has version ${stored}; this release knows ${format.version}: it was written by a newer one`,
    )
  }
  return upgraded
}

/** The error of msgpackr may show the content of the bytes, so it is not passed on. */
function versioned({ name }: RecordFormat, bytes: Uint8Array): [number, unknown] {
  try {
    const record = unpack(bytes)
    if (Array.isArray(record) && record.length === 2) return record as [number, unknown]
  } catch {}
  throw new StorageFailure(
    'damaged',
    `a stored ${name} cannot be read; to find the damage, run npm run admin -- repair`,
  )
}
