import { mkdtempSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { BlobStore } from '#runtime/blobs'
import { everyKeyOfNode, keys } from '#store/key-space'
import { levelStorage } from '#store/level'
import { finishImages, makeImage, receiveImage } from '#store/node-image'
import { idleWorld } from '#test/store/idle-world'
import { put, rowsOf, text } from '#test/store/storage-suite'

const noImages: Pick<BlobStore, 'names' | 'sizeOf' | 'read'> = {
  names: async () => [],
  sizeOf: async () => undefined,
  async *read() {},
}

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'node-image-'))
})
afterEach(() => rm(home, { recursive: true, force: true }))

async function write(folder: string, value: string): Promise<void> {
  const storage = await levelStorage({ folder, headroomBytes: 0 }).open()
  await storage.write([put('a', value), put(keys.replica, `at ${value}`)], { sync: true })
  await storage.close()
}

async function valuesIn(folder: string): Promise<(string | undefined)[]> {
  const storage = await levelStorage({ folder, headroomBytes: 0 }).open()
  const values = [await rowsOf(storage), storage.get(keys.replica)]
  await storage.close()
  const [rows, replica] = values as [{ value: Uint8Array }[], Uint8Array]
  return [...rows.map(({ value }) => text(value)), text(replica)]
}

/** A node with data, and its image in pieces. */
async function imageOfNode(): Promise<Uint8Array[]> {
  const folder = join(home, 'source')
  await write(folder, '1')
  await write(join(folder, 'history'), 'points')
  await writeFile(join(folder, 'identity.key'), 'secret')
  const storage = await levelStorage({ folder, headroomBytes: 0 }).open()
  const snapshot = () => storage.scan({ ...everyKeyOfNode, hasValues: true })
  const pieces: Uint8Array[] = []
  for await (const piece of makeImage({ world: idleWorld(1), folder, snapshot, images: noImages })) pieces.push(piece)
  await storage.close()
  expect((await readdir(folder)).sort()).toEqual(['db', 'history', 'identity.key'])
  return pieces
}

async function* sent(pieces: readonly Uint8Array[]) {
  yield* pieces
}

async function otherNode(): Promise<string> {
  const folder = join(home, 'target')
  await write(folder, 'old')
  await writeFile(join(folder, 'identity.key'), 'own')
  return folder
}

test('a node gets the rows, the place in the log and the history of another node, and keeps its key', async () => {
  const pieces = await imageOfNode()
  const folder = await otherNode()
  await receiveImage(folder, sent(pieces))
  expect(await valuesIn(folder)).toEqual(['1', 'at 1'])
  expect(await valuesIn(join(folder, 'history'))).toEqual(['points', 'at points'])
  expect(await readFile(join(folder, 'identity.key'), 'utf8')).toBe('own')
  expect((await readdir(folder)).sort()).toEqual(['db', 'history', 'identity.key'])
})

test('an image that is cut off changes nothing', async () => {
  const pieces = await imageOfNode()
  const folder = await otherNode()
  await expect(receiveImage(folder, sent(pieces.slice(0, -1)))).rejects.toThrow('cut off')
  expect(await valuesIn(folder)).toEqual(['old', 'at old'])
  expect((await readdir(folder)).sort()).toEqual(['db', 'identity.key'])
})

test('a node that died while it moved an image into its place finishes at its next start', async () => {
  const pieces = await imageOfNode()
  const folder = await otherNode()
  const whole = join(home, 'whole')
  await mkdir(whole)
  await receiveImage(whole, sent(pieces))
  await rename(whole, join(folder, 'joined'))
  await rm(join(folder, 'db'), { recursive: true })
  await mkdir(join(folder, '.copy-left'))
  for (let starts = 0; starts < 2; starts++) await finishImages(folder)
  expect(await valuesIn(folder)).toEqual(['1', 'at 1'])
  expect((await readdir(folder)).sort()).toEqual(['db', 'history', 'identity.key'])
})
