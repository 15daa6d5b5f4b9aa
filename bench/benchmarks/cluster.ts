// Answers: what several nodes cost: CPU of the owner for each change that arrives at another node, CPU of all three nodes for each change, and CPU of another node for each delivery to its dashboards, compared with one server alone at the same rate. Needs NATS: NATS_SERVER names its program. Does not count: the CPU of NATS (one server, loopback), the network, TLS, IAM.

import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Benchmark, type Case, type Figures, type Round, variantsOf } from '#bench/harness/benchmark'
import { cpuOf, formsOf } from '#bench/harness/load-figures'
import { NatsServer, noNats } from '#bench/harness/nats-servers'
import { type LoadShape, standardLoad, timesOf, withLoad } from '#bench/harness/running-load'
import { ownServer, type RunningServer } from '#bench/harness/servers'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { usageOf } from '#bench/process-usage'
import { freePort, startServer } from '#bench/server-process'

/** Frames a second: nearly the most that one core can carry in all variants, so that many frames share a commit. */
const changeRate = 20_000
const changesLoad = { ...standardLoad, devices: 1_000, dashboards: 0 }
/** Few frames, so that deliveries are nearly all of the work. */
const deliveryRate = 20
const deliveriesLoad = { ...standardLoad, devices: 100, links: 10, properties: 1, dashboards: 1_000 }

const environment = { DURABILITY: 'process' } as const

/** The measured processes, and where the load connects. */
interface Measured {
  readonly server: Pick<RunningServer, 'port' | 'processId' | 'stop'>
  readonly processIds: readonly number[]
}

type Start = () => Promise<Measured>

const one: Start = async () => {
  const server = await ownServer(environment)()
  return { server, processIds: [server.processId] }
}

/**
 * Three nodes; the load connects to a node that is not the owner. `measured` chooses the processes to measure from all,
 * of which the owner is the first.
 */
const three =
  (measured: (processIds: readonly number[]) => readonly number[]): Start =>
  async () => {
    const stops: (() => unknown)[] = []
    const stop = async () => {
      for (const each of stops.toReversed()) await each()
    }
    try {
      const nats = await NatsServer.start()
      stops.push(() => nats.discard())
      const nodes: { readonly port: number; readonly processId: number; readonly folder: string }[] = []
      for (const name of ['a', 'b', 'c']) {
        const folder = temporaryFolder(`bench-${name}-`)
        stops.push(() => folder.remove())
        const port = await freePort()
        const [first] = nodes
        if (first) await copyFile(join(first.folder, 'identity.key'), join(folder.path, 'identity.key'))
        const own = { NODE_NAME: name, NODE_URL: `http://127.0.0.1:${port}`, NATS_URL: nats.url, NATS_REPLICAS: '1' }
        const settings = { port, dataFolder: folder.path, isKilledAtExit: true }
        const node = await startServer({ ...settings, environment: { ...environment, ...own } })
        stops.push(() => node.kill())
        nodes.push({ port, processId: node.processId, folder: folder.path })
      }
      const processIds = nodes.map(({ processId }) => processId)
      const [, edge] = nodes
      if (!edge) throw new Error('there is no second node')
      return { server: { port: edge.port, processId: edge.processId, stop }, processIds: measured(processIds) }
    } catch (error) {
      await stop()
      throw error
    }
  }

const owner = three(([first = 0]) => [first])
const edge = three(([, second = 0]) => [second])
const all = three((processIds) => processIds)

/** CPU of the measured processes for each unit of work, in microseconds. */
async function costOf(start: Start, shape: LoadShape, rate: number, unit: 'changes' | 'deliveries', round: Round) {
  if (noNats) throw new Error(noNats)
  const { server, processIds } = await start()
  const cpuSeconds = () => processIds.reduce((sum, each) => sum + usageOf(each).cpuSeconds, 0)
  try {
    return await withLoad(server, shape, async ({ run }): Promise<Figures> => {
      await run({ ...timesOf(round, 0, 8_000), rate })
      const before = cpuSeconds()
      const result = await run({ ...timesOf(round, 0, 15_000), warmupMs: 0, rate })
      return {
        cpu: ((cpuSeconds() - before) / result[unit]) * 1e6,
        ...cpuOf(result),
      }
    })
  } finally {
    await server.stop()
  }
}

const alone = 'one server'
const changes: Case = {
  name: 'each change',
  baseline: alone,
  variants: variantsOf({ [alone]: one, owner, 'all three nodes': all }, (start, round) =>
    costOf(start, changesLoad, changeRate, 'changes', round),
  ),
}
const deliveries: Case = {
  name: 'each delivery',
  baseline: alone,
  variants: variantsOf({ [alone]: one, 'another node': edge }, (start, round) =>
    costOf(start, deliveriesLoad, deliveryRate, 'deliveries', round),
  ),
}

export const cluster: Benchmark = {
  rounds: 3,
  figures: { cpu: { title: 'CPU, µs', digits: 2, isCompared: true }, ...formsOf('loadCpu') },
  cases: [changes, deliveries],
  targets: [
    { case: changes.name, variant: 'owner', figure: 'cpu', isRatio: true, atMost: 1 },
    { case: changes.name, variant: 'all three nodes', figure: 'cpu', isRatio: true, atMost: 2 },
    { case: deliveries.name, variant: 'another node', figure: 'cpu', isRatio: true, atMost: 1.15 },
  ],
}
