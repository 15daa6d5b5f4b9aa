import { expect, test } from 'vitest'
import { recordOnly, rejectEntry, restoreState } from '#actors/record-only'
import type { Entry } from '#model/entry'
import type { AnyDefinition } from '#runtime/activation'
import { type ActorDefinition, answer, type RecordChange } from '#runtime/actor'
import { openRuntime } from '#test/runtime/runtime-fixture'

interface Note {
  text: string | undefined
}

/** Stores a text; `read` returns it. */
const brief: ActorDefinition<Note, { type: string }, Entry> = {
  kind: 'note',
  persistence: 'write_through',
  formats: { text: { name: 'note', version: 1, upgrades: {} } },
  fixedRecords: ['text'],
  isBrief: true,
  wake: (_, records) => restoreState<Note>({ text: undefined }, records, put),
  change: (state, change) => put(state, change as RecordChange),
  apply: rejectEntry,
  decide({ text }, { type }) {
    if (type === 'throw') throw new Error('thrown')
    return type === 'read' ? answer(text) : recordOnly([{ name: 'text', value: type }])
  },
}

function put(state: Note, { value }: RecordChange): void {
  state.text = value as string
}

const address = { kind: 'note', tenant: 'a', id: '1' }
const definitions = () => [brief] as unknown as AnyDefinition<Entry>[]

test('a brief actor does not stay awake, and its next turn reads its last decision before and after the commit', async () => {
  const fixture = await openRuntime({ definitions })
  fixture.ask(address, { type: 'one' }, 'put')
  expect(fixture.system.registry.awakeCount).toBe(0)
  fixture.ask(address, { type: 'read' }, 'read')
  fixture.ask(address, { type: 'throw' }, 'thrown')
  fixture.ask(address, { type: 'read' }, 'read')
  await fixture.settle()
  fixture.ask(address, { type: 'read' }, 'stored')
  expect(fixture.system.registry.awakeCount).toBe(0)
  await fixture.settle()
  expect(fixture.outputs).toEqual([
    'answered put undefined',
    'answered read "one"',
    'refused thrown bug',
    'answered read "one"',
    'answered stored "one"',
  ])
})
