import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { anonymous } from '#access/anonymous'
import type { RouteEntry } from '#api/entry'
import { assemble } from '#app/assembly'
import type { Call, Reply } from '#http/call'
import { idempotencyOf } from '#routes/idempotency'
import { levelPlace } from '#store/level'
import { world } from '#test/http/door'
import { inMemory } from '#test/in-memory'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const keys = 100_000
const atOnce = 1_000
const answer: Reply = { status: 200, json: 'x'.repeat(1_000) }

test('a hundred thousand keys lie on disk, and leave the heap as it was', { timeout: 240_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'keys-'))
  const assembly = assemble({
    ...inMemory(world),
    place: levelPlace({ folder, headroomBytes: 0 }),
    retention: { bytesMax: 2 ** 30, ageMsMax: 3_600_000 },
  })
  await assembly.open()
  try {
    const guard = idempotencyOf(assembly.context)
    const entry = { method: 'POST', path: '/p' } as RouteEntry
    const run = (key: string) => {
      const header = () => key
      const call = { caller: anonymous, header, target: { path: '/p', query: '' }, bodyBytes: Buffer.from(key) }
      return guard.run(call as unknown as Call, entry, () => answer)
    }
    const runAll = async (from: number, to: number) => {
      for (let first = from; first < to; first += atOnce) {
        await Promise.all(Array.from({ length: atOnce }, (_, index) => run(`key-${first + index}`)))
      }
    }
    const heap = async () => {
      await assembly.context.system.gate.settled()
      collect()
      return process.memoryUsage().heapUsed
    }
    await runAll(0, 5_000)
    const before = await heap()
    await runAll(5_000, keys)
    const bytesPerKey = ((await heap()) - before) / (keys - 5_000)
    expect(bytesPerKey).toBeLessThan(20)
    expect((await run(`key-${keys / 2}`)).text).toBe(JSON.stringify(answer.json))
  } finally {
    await assembly.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
