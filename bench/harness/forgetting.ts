import type { MemoryUse } from '#bench/harness/memory-probe'
import type { ProbedServer } from '#bench/harness/probed-server'
import { processUsage } from '#bench/process-usage'

/** Longer than an activation may be idle before it is forgotten. */
const idleMs = 6 * 60_000
/** Forgetting goes round all activations, some thousand a second. */
const forgetMsMax = 90_000
const lookEveryMs = 3_000
/** Of a core: its timers, and the sweep over who is idle. */
const idleShare = 0.05

/**
 * All links are closed: waits until every device is offline, lets the time pass after which they are forgotten, and waits
 * until they are.
 */
export async function forgotten(server: ProbedServer): Promise<MemoryUse> {
  await idle(server)
  await server.pass(idleMs)
  const end = performance.now() + forgetMsMax
  let use = await server.memory()
  for (let steady = 0; steady < 2; ) {
    if (performance.now() > end) throw new Error('the server is still forgetting')
    await pause(lookEveryMs)
    const now = await server.memory()
    steady = now.heapBytes > use.heapBytes * 0.995 ? steady + 1 : 0
    use = now
  }
  return use
}

/** Until the server has nothing to do any more. */
async function idle({ processId }: ProbedServer): Promise<void> {
  const end = performance.now() + forgetMsMax
  let before = processUsage(processId)
  for (let quiet = 0; quiet < 3; ) {
    if (performance.now() > end) throw new Error('the server does not come to rest')
    await pause(lookEveryMs / 3)
    const now = processUsage(processId)
    if (!before || !now) throw new Error('the server ended')
    const share = ((now.cpuSeconds - before.cpuSeconds) * 1000) / (lookEveryMs / 3)
    quiet = share < idleShare ? quiet + 1 : 0
    before = now
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
