import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { machineVersion, updateMachine } from '#actors/update/machine'
import { updateRecord } from '#actors/update/state'
import { unheardUpdates } from '#test/actors/unheard-updates'
import { arrowsOf } from '#test/actors/update/drawing'

/**
 * States, events, conditions and targets of every version that ever led a stored update. One that is changed gets the next
 * version, a line here, and an upgrade of what is stored: an update that is under way goes on by the new one.
 */
const versions: Readonly<Record<number, string>> = {
  1: 'bb9ea7eea9719de35733ca751bf0201f20339a33eba718bea67153ba8e74edd9',
  2: '6f1ea83f3d48439dc006baf47a543276ee20a3ac5edf96bbc5f22d75f3a29a44',
}

function printOf(machine: typeof updateMachine): string {
  const lines = arrowsOf(machine).map(({ from, event, guard = '', to = '' }) => `${from} ${event} ${guard} ${to}`)
  const states = Object.keys(machine.config.states ?? {})
  return createHash('sha256')
    .update([...states, ...lines].sort().join('\n'))
    .digest('hex')
}

test('the machine is the one that its version says', () => {
  expect(printOf(updateMachine)).toBe(versions[machineVersion])
})

test('what an older one stored is led up to it', () => {
  const format = unheardUpdates.formats[updateRecord]
  expect(format?.version).toBe(machineVersion)
  expect(Object.keys(versions)).toHaveLength(machineVersion)
  expect(Object.keys(format?.upgrades ?? {})).toHaveLength(machineVersion - 1)
})
