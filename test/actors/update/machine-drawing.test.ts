import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { machineVersion, updateMachine } from '#actors/update/machine'
import { updateRecord } from '#actors/update/state'
import { updateStates } from '#model/firmware'
import { noopUpdates } from '#test/actors/update/acting-update'

/** A machine that can be drawn. */
type Drawn = Pick<typeof updateMachine, 'config'>

/** A transition of a machine from one state to another by an event, with an optional condition. */
interface Arrow {
  readonly from: string
  readonly event: string
  readonly guard: string | undefined
  /** Undefined if the state does not change. */
  readonly to: string | undefined
}

interface Transition {
  readonly target?: string
  readonly guard?: string
}

function arrowsOf({ config }: Drawn): Arrow[] {
  const states = config.states as Readonly<
    Record<string, { on?: Readonly<Record<string, Transition | readonly Transition[]>> }>
  >
  return Object.entries(states).flatMap(([from, { on = {} }]) =>
    Object.entries(on).flatMap(([event, transitions]) =>
      [transitions].flat().map(({ guard, target }) => ({ from, event, guard, to: target })),
    ),
  )
}

/** A mermaid state diagram, without the transitions that do not change the state. */
function drawingOf(machine: Drawn): string {
  const labels = new Map<string, string[]>()
  for (const { from, event, guard, to } of arrowsOf(machine)) {
    if (to === undefined) continue
    const label = guard === undefined ? event : `${event} (${guard})`
    const line = `${from} --> ${to}`
    labels.set(line, [...(labels.get(line) ?? []), label])
  }
  const lines = [...labels].map(([line, texts]) => `    ${line}: ${texts.join(', ')}`)
  return ['```mermaid', 'stateDiagram-v2', `    [*] --> ${machine.config.initial}`, ...lines, '```'].join('\n')
}

const begin = '<!-- the machine of updates, as test/actors/update/machine-drawing.test.ts draws it -->'
const end = '<!-- its end -->'

test('docs/update-states.md shows the present machine', () => {
  const text = readFileSync(new URL('../../../docs/update-states.md', import.meta.url), 'utf8')
  const [, drawn, ...more] = text.split(begin)
  expect(more).toEqual([])
  expect(drawn?.split(end)[0]?.trim()).toBe(drawingOf(updateMachine))
})

test('the machine has the published states, and each can be entered and left', () => {
  expect(Object.keys(updateMachine.config.states ?? {})).toEqual(updateStates)
  const arrows = arrowsOf(updateMachine)
  for (const state of updateStates) {
    expect(
      arrows.some(({ to }) => to === state),
      `to ${state}`,
    ).toBe(true)
    expect(
      arrows.some(({ from, to }) => from === state && to !== undefined),
      `from ${state}`,
    ).toBe(true)
  }
})

/**
 * The digest of states, events, conditions and targets. A changed machine needs the next version and an upgrade of the
 * record, because an active update continues with the new machine.
 */
const version2 = '47a33a7a9ab2b6c65df5e3a32e23b864aa4a62fc854e9b37694495d9ed2be7eb'

function digestOf(machine: typeof updateMachine): string {
  const lines = arrowsOf(machine).map(({ from, event, guard = '', to = '' }) => `${from} ${event} ${guard} ${to}`)
  const states = Object.keys(machine.config.states ?? {})
  return createHash('sha256')
    .update([...states, ...lines].sort().join('\n'))
    .digest('hex')
}

test('the present version belongs to the present machine', () => {
  expect([machineVersion, digestOf(updateMachine)]).toEqual([2, version2])
  expect(noopUpdates.formats[updateRecord]?.version).toBe(machineVersion)
})
