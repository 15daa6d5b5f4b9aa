import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { besideNeighbours, inTurns } from '#bench/harness/in-turns'
import { until } from '#test/blackbox/until'

/** T: it stands still. */
const isStopped = (processId: number) => /\) T /.test(readFileSync(`/proc/${processId}/stat`, 'latin1'))

test.skipIf(process.platform !== 'linux')('both in turns, while the other one stands still', async () => {
  const children = [spawn('sleep', ['60']), spawn('sleep', ['60'])] as const
  const [a, b] = children.map(({ pid = 0 }) => ({ processId: pid })) as [{ processId: number }, { processId: number }]
  const said: string[] = []
  try {
    const side = (name: string, server: typeof a, other: typeof a) => ({
      server,
      async run() {
        // The kernel tells them so when it comes to them.
        await until(() => isStopped(other.processId) && !isStopped(server.processId), `${name} to be alone`)
        said.push(name)
        return name
      },
    })
    expect(await inTurns([side('a', a, b), side('b', b, a)], 2)).toEqual([
      ['a', 'a', 'a'],
      ['b', 'b'],
    ])
    expect(said).toEqual(['a', 'b', 'a', 'b', 'a', 'b', 'a'])
    await until(() => ![a, b].some(({ processId }) => isStopped(processId)), 'both to go on')
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await Promise.all(children.map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')))
  }
})

test('each by what was before and after it', () => {
  expect(besideNeighbours([8, 30], [10, 10, 50])).toEqual([0.8, 1])
})
