// Answers: what several nodes cost: CPU of the owner for each change that arrives at another node, CPU of all three nodes for each change, and CPU of another node for each delivery to its dashboards, compared with one server alone at the same rate. Needs NATS: NATS_SERVER names its program. Does not count: the CPU of NATS (one server, loopback), the network, TLS, IAM.

import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Benchmark, type Case, type Figures, type Round, variantsOf } from '#bench/harness/benchmark'
import { cpuOf, formsOf } from '#bench/harness/load-figures'
import { NatsServer, noNats } from '#bench/harness/nats-servers'
import { type LoadShape, standardLoad, timesOf, withLoad } from '#bench/harness/running-load'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { usageOf } from '#bench/process-usage'
import { freePort, startServer } from '#bench/server-process'

/** Frames a second: nearly the most that one core can carry in all variants, so that many frames share a commit. */
const changeRate = 20_000
const changesLoad = { ...standardLoad, devices: 1_000, dashboards: 0 }
/** Few frames, so that deliveries are nearly all of the work. */
const deliveryRate = 20
const deliveriesLoad = { ...standardLoad, devices: 100, links: 10, properties: 1, dashboards: 1_000 }

interface Node {
  readonly port: number
  readonly processId: number
  readonly folder: string
}

/** Starts nodes, of which the first is the owner; a single one is a server without a cluster. */
async function startNodes(count: number, stops: (() => unknown)[]): Promise<readonly Node[]> {
  const nats = count > 1 ? await NatsServer.start() : undefined
  stops.push(() => nats?.discard())
  const nodes: Node[] = []
  for (const name of ['a', 'b', 'c'].slice(0, count)) {
    const folder = temporaryFolder(`bench-${name}-`)
    stops.push(() => folder.remove())
    const port = await freePort()
    const [first] = nodes
    if (first) await copyFile(join(first.folder, 'identity.key'), join(folder.path, 'identity.key'))
    const inCluster = nats && {
      ...{ NODE_NAME: name, NODE_URL: `http://127.0.0.1:${port}`, NATS_URL: nats.url, NATS_REPLICAS: '1' },
    }
    const environment = { DURABILITY: 'process', ...inCluster }
    const node = await startServer({ port, dataFolder: folder.path, isKilledAtExit: true, environment })
    stops.push(() => node.kill())
    nodes.push({ port, processId: node.processId, folder: folder.path })
  }
  return nodes
}

interface Measured {
  readonly nodes: number
  /** The indexes of the measured nodes. */
  readonly measured: readonly number[]
}

/** CPU of the measured nodes for each unit of work, in microseconds. The load connects to a node that is not the owner. */
async function costOf(
  { nodes: count, measured }: Measured,
  shape: LoadShape,
  rate: number,
  unit: 'changes' | 'deliveries',
  round: Round,
): Promise<Figures> {
  if (noNats) throw new Error(noNats)
  const stops: (() => unknown)[] = []
  try {
    const nodes = await startNodes(count, stops)
    const cpuSeconds = () => measured.reduce((sum, at) => sum + usageOf(nodes[at]?.processId ?? 0).cpuSeconds, 0)
    const connected = (nodes[1] ?? nodes[0]) as Node
    return await withLoad(connected, shape, async ({ run }): Promise<Figures> => {
      await run({ ...timesOf(round, 0, 8_000), rate })
      const before = cpuSeconds()
      const result = await run({ ...timesOf(round, 0, 15_000), warmupMs: 0, rate })
      return { cpu: ((cpuSeconds() - before) / result[unit]) * 1e6, ...cpuOf(result) }
    })
  } finally {
    for (const stop of stops.toReversed()) await stop()
  }
}

const alone = 'one server'
const one: Measured = { nodes: 1, measured: [0] }
const changes: Case = {
  name: 'each change',
  baseline: alone,
  variants: variantsOf(
    { [alone]: one, owner: { nodes: 3, measured: [0] }, 'all three nodes': { nodes: 3, measured: [0, 1, 2] } },
    (nodes, round) => costOf(nodes, changesLoad, changeRate, 'changes', round),
  ),
}
const deliveries: Case = {
  name: 'each delivery',
  baseline: alone,
  variants: variantsOf({ [alone]: one, 'another node': { nodes: 3, measured: [1] } }, (nodes, round) =>
    costOf(nodes, deliveriesLoad, deliveryRate, 'deliveries', round),
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
