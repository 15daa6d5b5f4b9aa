import type { Round } from '#bench/harness/benchmark'
import { Remote } from '#bench/harness/remote'
import type { RunningServer, ServerTarget, StartServer } from '#bench/harness/servers'
import type { LoadSpec, PhaseResult, PhaseSpec } from '#bench/load/generator'

/** A fleet and dashboards, without their server. */
export type LoadShape = Omit<LoadSpec, keyof ServerTarget>

export const standardLoad = {
  devices: 10_000,
  links: 50,
  window: 64,
  changes: 1,
  properties: 10,
  prefix: 'LOAD',
  dashboards: 1,
} satisfies LoadShape

export interface RunningLoad {
  run(phase: PhaseSpec): Promise<PhaseResult>
}

export function timesOf({ isQuick }: Round, warmupMs: number, measuredMs: number): PhaseSpec {
  return isQuick ? { warmupMs: 300, measuredMs: 500 } : { warmupMs, measuredMs }
}

/** Starts a server and a load, each in its own process, and stops both after `measure`. */
export function underLoad<Measured>(
  start: StartServer,
  shape: LoadShape,
  measure: (load: RunningLoad, server: RunningServer) => Promise<Measured>,
): Promise<Measured> {
  return started(start, (server) => withLoad(server, shape, (load) => measure(load, server)))
}

export async function started<Server extends Pick<RunningServer, 'stop'>, Measured>(
  start: () => Promise<Server>,
  use: (server: Server) => Promise<Measured>,
): Promise<Measured> {
  const server = await start()
  try {
    return await use(server)
  } finally {
    await server.stop()
  }
}

export function withLoad<Measured>(
  server: ServerTarget,
  shape: LoadShape,
  use: (load: RunningLoad) => Promise<Measured>,
): Promise<Measured> {
  return withRemote('load/generator', async (load) => {
    await load.ask('open', { ...shape, ...server })
    return await use({ run: (phase) => load.ask('run', phase) })
  })
}

export function withRemote<Measured>(program: string, use: (remote: Remote) => Promise<Measured>): Promise<Measured> {
  return started(async () => new Remote(program), use)
}

/**
 * Runs pairs of windows, without other work and with it, in alternating order, so that a drift of the machine affects
 * both alike. `together` runs a window during other work.
 */
export async function runPairs<Work>(
  pairs: number,
  window: () => Promise<PhaseResult>,
  together: () => Promise<readonly [PhaseResult, Work]>,
) {
  const [without, during, works]: [PhaseResult[], PhaseResult[], Work[]] = [[], [], []]
  for (let half = 0; half < 2 * pairs; half++) {
    if (half % 4 === 0 || half % 4 === 3) without.push(await window())
    else {
      const [result, work] = await together()
      during.push(result)
      works.push(work)
    }
  }
  return { without, during, works }
}

/** Runs the load until every device has reported. Each attempt lasts for `phase`. */
export async function runUntilReported(load: RunningLoad, phase: PhaseSpec): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { silent } = await load.run(phase)
    if (silent === 0) return
    if (tries === reportTriesMax) throw new Error(`${silent} devices have not reported`)
  }
}

const reportTriesMax = 10
