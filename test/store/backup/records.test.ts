import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BackupError, magic } from '#store/backup/format'
import { BlockWriter, RecordWriter } from '#store/backup/records'
import { anyText } from '#test/kit/any-text'
import { forAllAsync } from '#test/kit/for-all'
import { bytesOfBackup, type Content, imageOf, inPieces, readWhole } from '#test/store/backup/backup-bytes'

const bytes = (count: number, seed = 1) => Uint8Array.from({ length: count }, (_, at) => (at * 31 + seed) & 0xff)
const keyFile = ['identity.key', bytes(44)] as const
const small: Content = {
  createdAt: 1_790_000_000_000,
  keySpace: 1,
  rows: [
    ['actor/device/default/A', bytes(20)],
    ['format', bytes(3)],
  ],
  files: [keyFile, imageOf(bytes(10))],
}

const row = fc.tuple(anyText({ minLength: 1 }), fc.uint8Array({ maxLength: 300 }))
const content = fc.record({
  createdAt: fc.nat(),
  keySpace: fc.constant(1),
  rows: fc
    .uniqueArray(row, { selector: ([key]) => key, maxLength: 30 })
    .map((rows) => rows.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))),
  files: fc
    .uniqueArray(fc.uint8Array({ maxLength: 300 }).map(imageOf), { selector: ([name]) => name, maxLength: 4 })
    .map((files) => [keyFile, ...files.sort(([a], [b]) => (a < b ? -1 : 1))]),
})

describe('a backup', () => {
  test('reads back as written, for any split of its bytes', async () => {
    await forAllAsync([content, fc.integer({ min: 1, max: 200 })], 100, async (written, pieceBytes) => {
      const read = await readWhole(inPieces(bytesOfBackup(written), pieceBytes))
      expect(read).toEqual({ ...written, ended: true })
    })
  })

  test.each([65_535, 65_536, 65_537, 1_000_000])('holds a value of %i bytes', async (count) => {
    const rows = [
      ['a', bytes(count)],
      ['b', bytes(1)],
    ] as const
    const read = await readWhole(inPieces(bytesOfBackup({ rows, files: [] })))
    expect(read.rows.map(([key]) => key)).toEqual(['a', 'b'])
    for (const [at, [, value]] of rows.entries()) expect(Buffer.compare(read.rows[at]?.[1] ?? bytes(0), value)).toBe(0)
  })

  test('is refused when cut off at any byte', async () => {
    const whole = bytesOfBackup(small)
    for (let length = 0; length < whole.length; length++) {
      const cut = readWhole(inPieces(whole.subarray(0, length)))
      await expect(cut, `${length} of ${whole.length} bytes`).rejects.toThrow(BackupError)
      await expect(cut).rejects.toThrow(length < magic.length ? 'this is not a backup' : `cut off at byte ${length}`)
    }
  })

  test('is refused when any byte is changed', async () => {
    const whole = bytesOfBackup(small)
    for (let at = 0; at < whole.length; at++) {
      const harmed = Buffer.from(whole)
      harmed.writeUInt8(harmed.readUInt8(at) ^ 0x10, at)
      await expect(readWhole(inPieces(harmed)), `byte ${at}`).rejects.toThrow(BackupError)
    }
  })

  test('is refused when a block is missing', async () => {
    const whole = bytesOfBackup({ rows: [['a', bytes(200_000)]], files: [] })
    const block = 8 + 65_536
    const without = Buffer.concat([whole.subarray(0, 8 + block), whole.subarray(8 + 2 * block)])
    await expect(readWhole(inPieces(without))).rejects.toThrow(BackupError)
  })

  test('is refused when bytes follow its end', async () => {
    const more = Buffer.concat([bytesOfBackup(small), Buffer.from([0])])
    await expect(readWhole(inPieces(more))).rejects.toThrow('there are bytes after the end')
  })

  test('is not recognised in other files', async () => {
    for (const other of [bytes(100), Buffer.from('SQLite format 3\0'), Buffer.alloc(0)]) {
      await expect(readWhole(inPieces(other))).rejects.toThrow('this is not a backup')
    }
  })

  test('of a newer version is refused with an error that names the version', async () => {
    const json = JSON.stringify({ format: 'device-data-backend backup', version: 2, anything: [] })
    await expect(readWhole(inPieces(written([1, json])))).rejects.toThrow('a newer release made the backup (version 2')
  })

  const format = 'device-data-backend backup'
  const head = [1, JSON.stringify({ format, version: 1, createdAt: 1, keySpace: 1 })] as const
  const end = (rows: number, rowBytes = 0) => [4, JSON.stringify({ rows, rowBytes, files: 0, fileBytes: 0 })] as const

  test.each<[string, readonly (readonly [number, string])[]]>([
    ['without a head', [end(0)]],
    ['with the head of another format', [[1, '{"format":"other","version":1}'], end(0)]],
    ['with a head that is not JSON', [[1, '{'], end(0)]],
    ['without an end', [head]],
    ['with an unknown record', [head, [9, '']]],
    ['with a second head', [head, head, end(0)]],
    ['whose end counts more rows than it holds', [head, end(1)]],
    ['with a record after the end', [head, end(0), end(0)]],
  ])('%s is refused', async (_, records) => {
    await expect(readWhole(inPieces(written(...records)))).rejects.toThrow(BackupError)
  })

  test.each<[string, Content]>([
    ['rows out of order', { rows: ['b', 'a'].map((key) => [key, bytes(1)]), files: [] }],
    ['a row twice', { rows: ['a', 'a'].map((key) => [key, bytes(1)]), files: [] }],
    ['a file outside the folder', { rows: [], files: [['../identity.key', bytes(1)]] }],
    ['a file with an absolute path', { rows: [], files: [['/etc/passwd', bytes(1)]] }],
    ['a file in the database', { rows: [], files: [['db/CURRENT', bytes(1)]] }],
    ['an image with an invalid name', { rows: [], files: [['images/a', bytes(1)]] }],
    ['a file twice', { rows: [], files: [keyFile, keyFile] }],
  ])('with %s is refused', async (_, content) => {
    await expect(readWhole(inPieces(bytesOfBackup(content)))).rejects.toThrow("can't read the backup")
  })

  test('with a row after a file is refused', async () => {
    const blocks = new BlockWriter()
    const records = new RecordWriter(blocks)
    const pieces = [
      blocks.start(),
      ...records.putHead({ createdAt: 1, keySpace: 1 }),
      ...records.putFile('identity.key', 0),
      ...records.putRow('a', bytes(1)),
      ...records.putEnd(),
    ]
    await expect(readWhole(inPieces(Buffer.concat(pieces)))).rejects.toThrow('not in order')
  })

  test('throws the error of its source', async () => {
    async function* broken() {
      yield bytesOfBackup(small).subarray(0, 100)
      throw new Error('the connection broke')
    }
    await expect(readWhole(broken())).rejects.toThrow('the connection broke')
  })
})

/** The given records, in valid blocks. */
function written(...records: readonly (readonly [kind: number, json: string])[]): Buffer {
  const blocks = new BlockWriter()
  const pieces = [blocks.start()]
  for (const [kind, json] of records) {
    const prefix = Buffer.alloc(5)
    prefix.writeUInt8(kind, 0)
    prefix.writeUInt32LE(Buffer.byteLength(json), 1)
    pieces.push(...blocks.put(prefix), ...blocks.put(Buffer.from(json)))
  }
  return Buffer.concat([...pieces, ...blocks.end()])
}

test('a backup has the documented layout', () => {
  const whole = bytesOfBackup({ rows: [], files: [] })
  expect(whole.subarray(0, 8)).toEqual(Buffer.from([0x89, 0x44, 0x44, 0x42, 0x0d, 0x0a, 0x1a, 0x0a]))
  const length = whole.readUInt32LE(8)
  expect(whole.length).toBe(8 + 8 + length + 4 + 32)
  expect(whole.readUInt32LE(12)).toBe(crc32(whole.subarray(16, 16 + length)))
  expect(whole.readUInt32LE(16 + length)).toBe(0)
})
