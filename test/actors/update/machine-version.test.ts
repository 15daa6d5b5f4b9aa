import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { machineVersion, updateMachine } from '#actors/update/machine'
import { updateRecord } from '#actors/update/state'
import { noopUpdates } from '#test/actors/noop-updates'
import { arrowsOf } from '#test/actors/update/machine-drawing'

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
