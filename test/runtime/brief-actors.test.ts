import { expect, test } from 'vitest'
import { recordActor, recordsWithoutEntry } from '#actors/record-actor'
import type { Entry } from '#model/entry'
import type { AnyDefinition } from '#runtime/activation'
import { answer, type NoFields } from '#runtime/actor'
import { openRuntime } from '#test/runtime/runtime-fixture'

interface Note {
  text: string | undefined
}

/** Stores a text; `read` returns it. */
const brief = recordActor<Note, { put: { text: string }; read: NoFields; throw: NoFields }>({
  kind: 'note',
  records: { text: 'note' },
  isBrief: true,
  empty: () => ({ text: undefined }),
  put(state, { value }) {
    state.text = value as string
  },
  decisions: {
    put: (_, { text }) => recordsWithoutEntry([{ name: 'text', value: text }]),
    read: ({ text }) => answer(text),
    throw() {
      throw new Error('thrown')
    },
  },
})

const address = { kind: 'note', tenant: 'a', id: '1' }
const definitions = () => [brief] as unknown as AnyDefinition<Entry>[]

test('a brief actor does not stay awake; its next turn reads its latest state, stored or not', async () => {
  const fixture = await openRuntime({ definitions })
  fixture.ask(address, { type: 'put', text: 'one' }, 'put')
  expect(fixture.system.registry.awakeCount).toBe(0)
  fixture.ask(address, { type: 'read' }, 'read')
  fixture.ask(address, { type: 'throw' }, 'thrown')
  fixture.ask(address, { type: 'read' }, 'read')
  await fixture.settle()
  fixture.ask(address, { type: 'read' }, 'stored')
  expect(fixture.system.registry.awakeCount).toBe(0)
  await fixture.settle()
  expect(fixture.outputs.slice(0, 3)).toEqual(['answered put undefined', 'answered read "one"', 'refused thrown bug'])
  expect(fixture.outputs.slice(3)).toEqual(['answered read "one"', 'answered stored "one"'])
})
