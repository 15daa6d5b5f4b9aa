import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { proofOf, readServerFile, removeServerFile, writeServerFile } from '#store/server-file'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'server-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const file = { host: '127.0.0.1', port: 8080, key: Buffer.alloc(32, 7).toString('base64url') }

test('a server writes its address for the owner only, and removes the file when it stops', async () => {
  expect(await readServerFile(folder)).toBeUndefined()
  await writeServerFile(folder, file)
  expect(await readServerFile(folder)).toEqual(file)
  expect(statSync(join(folder, 'server.json')).mode & 0o777).toBe(0o600)
  await removeServerFile(folder)
  await removeServerFile(folder)
  expect(readdirSync(folder)).toEqual([])
})

test('a server replaces the file of a dead server, even an incomplete file', async () => {
  await writeServerFile(folder, { ...file, port: 1 })
  writeFileSync(join(folder, 'server.json.new'), '{"host"', { mode: 0o644 })
  await writeServerFile(folder, file)
  expect([await readServerFile(folder), readdirSync(folder)]).toEqual([file, ['server.json']])
  expect(statSync(join(folder, 'server.json')).mode & 0o777).toBe(0o600)
})

const invalid = [
  { ...file, key: 'short' },
  { ...file, port: '1' },
].map((each) => JSON.stringify(each))
test.each(['', '{', 'null', '[]', '{}', ...invalid])('%j is not a server file', async (text) => {
  writeFileSync(join(folder, 'server.json'), text)
  expect(await readServerFile(folder)).toBeUndefined()
})

test('the proof is the HMAC-SHA256 of the challenge under the key', () => {
  const challenge = 'A'.repeat(43)
  const proofs = [proofOf(file.key, challenge), proofOf(file.key, 'B'.repeat(43)), proofOf('k'.repeat(43), challenge)]
  expect(new Set(proofs).size).toBe(3)
  // RFC 4231 §4.3.
  expect(proofOf(Buffer.from('Jefe').toString('base64url'), 'what do ya want for nothing?')).toBe(
    Buffer.from('5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843', 'hex').toString('base64url'),
  )
})
