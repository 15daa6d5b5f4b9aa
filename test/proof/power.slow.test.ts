import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import type { FileOperation } from '#bench/proof/power/disk-state'
import { tryStates, withRecording } from '#bench/proof/power/power'

const hasStrace = spawnSync('strace', ['--version']).status === 0

test('acknowledged changes survive a power loss; changes lost without fsync of the logs are found', {
  timeout: 240_000,
}, async (context) => {
  if (!hasStrace) {
    if (process.env.CI) throw new Error('strace is not installed')
    return context.skip('strace is not installed')
  }
  const seed = Date.now() % 1_000_000_000
  await withRecording({ seed, lifeMs: 600 }, async (recording, folder) => {
    const options = { seed, states: 15, print: () => {} }
    const durable = await tryStates(recording, folder, options)
    expect(durable.problems, `seed ${seed}`).toEqual([])
    expect(durable.statesWithMore).toBeGreaterThan(0)
    expect(durable.framesSearched).toBeGreaterThan(0)
    // The same server on a disk that ignores the fsync of its logs: each state opens, and acknowledged changes are lost.
    const logs = new Set<unknown>(
      recording.operations.flatMap(({ operation }) =>
        operation.kind === 'name'
          ? operation.names.flatMap(([path, target]) => (path.endsWith('.log') ? [target] : []))
          : [],
      ),
    )
    const isOfLog = (operation: FileOperation) => operation.kind === 'sync' && logs.has(operation.file)
    const unsynced = await tryStates(recording, folder, options, isOfLog)
    expect(unsynced.problems.join('\n'), `seed ${seed}`).toMatch(/stream: \d+ acknowledged frames were lost/)
  })
})
