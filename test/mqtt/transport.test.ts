import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { beforeEach, expect, test } from 'vitest'
import { PacketFlush, TcpTransport } from '#mqtt/transport'
import { ManualWorld } from '#test/runtime/manual-world'

let world: ManualWorld
let writes: string[]
let writeMs: number
let transports: TcpTransport[]

/** A socket that takes everything, each write in `writeMs`. */
class TestSocket extends EventEmitter {
  readonly writableLength = 0
  readonly destroyed = false

  write(bytes: Uint8Array): boolean {
    writes.push(Buffer.from(bytes).toString())
    world.spend(writeMs)
    return true
  }
}

beforeEach(() => {
  world = new ManualWorld()
  writes = []
  writeMs = 0
  const flush = new PacketFlush(world)
  transports = [1, 2].map(() => new TcpTransport(world, new TestSocket() as unknown as Socket, flush))
})

const send = (text: string, mayWait: boolean, of = 0) => transports[of]?.send(Buffer.from(text), mayWait)

test('packets that may wait are sent together, and so are other packets of one cycle', async () => {
  for (const text of ['a', 'b']) send(text, true)
  for (const text of ['c', 'd']) send(text, false, 1)
  await world.settle()
  expect(writes.toSorted()).toEqual(['ab', 'cd'])
})

test('a packet that may not wait takes earlier ones with it', async () => {
  send('a', true)
  send('b', false)
  await world.settle()
  expect(writes).toEqual(['ab'])
})

test('after a pause of the process, packets wait 100 ms', async () => {
  writeMs = 60_000
  send('a', true)
  await world.settle()
  send('b', true)
  await world.advance(99)
  expect(writes).toEqual(['a'])
  await world.advance(1)
  expect(writes).toEqual(['a', 'b'])
})

test('after writes of 10 ms, packets wait 15 ms, unless many bytes wait', async () => {
  writeMs = 5
  for (const of of [0, 1]) send('a', true, of)
  await world.settle()
  writeMs = 0
  send('b', true)
  send('c', true, 1)
  send('x'.repeat(16 * 1024), true, 1)
  await world.settle()
  expect(writes).toEqual(['a', 'a', `c${'x'.repeat(16 * 1024)}`])
  await world.advance(14)
  expect(writes).toHaveLength(3)
  await world.advance(1)
  expect(writes.slice(3)).toEqual(['b'])
})
