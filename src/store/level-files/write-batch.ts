import { BadBytes, ByteCursor } from '#store/level-files/byte-cursor'

/** What one write left in the log. */
export interface WriteBatch {
  /** Of its first operation; the others have the next ones. */
  readonly sequence: number
  readonly count: number
}

export interface LoggedOperation {
  readonly key: Buffer
  /** Null: deleted. */
  readonly value: Buffer | null
  readonly sequence: number
}

/** @throws BadBytes */
export function batchOf(record: Uint8Array): WriteBatch {
  const cursor = new ByteCursor(record)
  return { sequence: cursor.uint64(), count: cursor.uint32() }
}

/** @throws BadBytes */
export function* operationsOf(record: Uint8Array): Generator<LoggedOperation> {
  const cursor = new ByteCursor(record)
  const first = cursor.uint64()
  const count = cursor.uint32()
  for (let place = 0; place < count; place++) {
    const isValue = valueKind(cursor.byte())
    const key = cursor.sized()
    yield { key, value: isValue ? cursor.sized() : null, sequence: first + place }
  }
}

/** 0: deleted, 1: put. */
export function valueKind(byte: number): boolean {
  if (byte > 1) throw new BadBytes(`an operation of kind ${byte}`)
  return byte === 1
}
