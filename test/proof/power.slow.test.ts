import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import type { FileOperation } from '#bench/proof/power/file-operations'
import { tryStates, withRecording } from '#bench/proof/power/power'

const hasStrace = spawnSync('strace', ['--version']).status === 0

test('a server that fsyncs holds what it acknowledged behind a power loss; of one that does not it is found', {
  timeout: 240_000,
}, async (context) => {
  if (!hasStrace) {
    if (process.env.CI) throw new Error('strace is not there')
    return context.skip('strace is not there')
  }
  const seed = Date.now() % 1_000_000_000
  await withRecording({ seed, lifeMs: 600 }, async (recording, folder) => {
    const options = { seed, states: 15, print: () => {} }
    const held = await tryStates(recording, folder, options)
    expect(held.problems, `seed ${seed}`).toEqual([])
    expect(held.statesWithMore).toBeGreaterThan(0)
    expect(held.framesSearched).toBeGreaterThan(0)
    // The same server on a disk that takes every fsync, and does nothing.
    const forgetful = await tryStates(recording, folder, options, ({ kind }) => kind === 'sync')
    expect(forgetful.problems.length, `seed ${seed}`).toBeGreaterThan(0)
    // One that never writes down the log: all opens, and less is there than devices were told.
    const logs = new Set(
      recording.operations.flatMap(({ operation }) =>
        operation.kind === 'create' && operation.path.endsWith('.log') ? [operation.file] : [],
      ),
    )
    const isOfLog = (operation: FileOperation) => operation.kind === 'sync' && logs.has(operation.file)
    const shorter = await tryStates(recording, folder, options, isOfLog)
    expect(shorter.problems.join('\n'), `seed ${seed}`).toMatch(/stream: \d+ acknowledged frames were lost/)
  })
})
