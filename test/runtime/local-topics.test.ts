import { beforeEach, expect, test } from 'vitest'
import { LocalTopics } from '#runtime/local-topics'
import { ManualWorld } from '#test/runtime/manual-world'

let world: ManualWorld
let topics: LocalTopics
let published: string[]
let errors: unknown[]
beforeEach(() => {
  world = new ManualWorld()
  published = []
  errors = []
  const websockets = { publish: (topic: string, message: string | Uint8Array) => published.push(`${topic} ${message}`) }
  topics = new LocalTopics(world, websockets, (error) => errors.push(error))
})

function socket() {
  const lists: (readonly string[])[] = []
  return { lists, receive: (messages: readonly string[]) => lists.push(messages) }
}

test('messages of one cycle reach each local socket as one list, and websockets at once', async () => {
  const sockets = [socket(), socket()]
  for (const each of sockets) topics.subscribe('a', each)
  const bytes = Buffer.from('1')
  topics.publish('a', bytes)
  bytes.write('x')
  topics.publish('a', '2')
  topics.publish('b', '3')
  expect(published).toEqual(['a 1', 'a 2', 'b 3'])
  expect(sockets[0]?.lists).toEqual([])
  await world.settle()
  expect(sockets.map(({ lists }) => lists)).toEqual([[['1', '2']], [['1', '2']]])
  topics.publish('a', '4')
  await world.settle()
  expect(sockets[1]?.lists).toEqual([['1', '2'], ['4']])
})

test('a socket gets exactly the messages that were published while it was subscribed', async () => {
  const [first, second] = [socket(), socket()]
  topics.subscribe('a', first)
  topics.publish('a', '1')
  topics.subscribe('a', second)
  topics.publish('a', '2')
  topics.unsubscribe('a', first)
  topics.publish('a', '3')
  await world.settle()
  expect([first.lists.flat(), second.lists.flat()]).toEqual([
    ['1', '2'],
    ['2', '3'],
  ])
})

test('a socket that throws keeps no other socket from its messages', async () => {
  const bug = new Error('bug')
  const broken = {
    receive: () => {
      throw bug
    },
  }
  const sockets = [socket(), socket(), socket()]
  topics.subscribe('a', broken)
  for (const [place, each] of sockets.entries()) topics.subscribe(place === 2 ? 'b' : 'a', each)
  for (const message of ['1', '2']) {
    for (const topic of ['a', 'b']) topics.publish(topic, message)
    await world.settle()
  }
  expect(sockets.map(({ lists }) => lists.flat())).toEqual(Array(3).fill(['1', '2']))
  expect(errors).toEqual([bug, bug])
})

test('the waiting deliveries of all topics count together', () => {
  const sockets = Array.from({ length: 10_000 }, socket)
  for (const [place, each] of sockets.entries()) topics.subscribe(place % 2 ? 'a' : 'b', each)
  for (let count = 0; count < 13; count++) for (const topic of ['a', 'b']) topics.publish(topic, 'x')
  expect(sockets[0]?.lists).toEqual([])
  topics.publish('a', 'x')
  topics.publish('b', 'x')
  expect(sockets.map(({ lists }) => lists.flat().length).slice(0, 2)).toEqual([13, 14])
})

test.each([
  ['bytes', 1, 'x'.repeat(1024), 64],
  ['sockets', 10_000, 'x', 13],
])('messages are sent at once if there are many %s', (_, socketCount, message, waitingMax) => {
  const sockets = Array.from({ length: socketCount }, socket)
  for (const each of sockets) topics.subscribe('a', each)
  for (let count = 0; count < waitingMax; count++) topics.publish('a', message)
  expect(sockets.at(-1)?.lists).toEqual([])
  topics.publish('a', message)
  expect(sockets.at(-1)?.lists.flat()).toHaveLength(waitingMax + 1)
})
