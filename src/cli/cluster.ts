import type { Command } from 'commander'
import { realWorld } from '#app/world'
import type { CommandAction, CommandContext } from '#cli/command-context'
import { Refusal } from '#cli/exit-codes'

const columns = [
  ['NODE', 'node'],
  ['URL', 'url'],
  ['OWNER', 'isOwner'],
  ['BEHIND', 'entries'],
  ['MS BEHIND', 'ms'],
] as const

/** Longer than a hand-over, which takes two seconds at most. Contract 11. */
const handOverMsMax = 10_000

export function addClusterCommands(program: Command, act: CommandAction): void {
  const cluster = program.command('cluster').description('show the nodes of a cluster, and choose the owner')
  cluster.command('status').description('list the nodes, and how far each is behind').action(act(list))
  cluster
    .command('hand-over <node>')
    .description('make another node the owner, before the machine of the owner is stopped')
    .action(act(handOver))
}

async function list({ client, printer }: CommandContext): Promise<void> {
  const { nodes, owner } = await statusOf(client)
  const rows = nodes.map(({ node, url, lag }) => ({ node, url, isOwner: node === owner, ...lag }))
  printer.list(columns, rows)
}

async function handOver({ client, printer }: CommandContext, node: string): Promise<void> {
  const { generation } = await statusOf(client)
  await client.call('POST /cluster/hand-over', { body: { node } })
  const until = realWorld.monotonic() + handOverMsMax
  // Asks without a pause, because timers of `realWorld` do not keep the process alive.
  for (let status = await statusOf(client); ; status = await statusOf(client)) {
    if (status.owner === node && status.generation > generation) {
      printer.done(`${node} is the owner`, status)
      return
    }
    if (realWorld.monotonic() < until) continue
    throw new Refusal(
      `${node} did not become the owner within ${handOverMsMax / 1000} s; it is ${status.owner ?? 'none'}`,
    )
  }
}

async function statusOf(client: CommandContext['client']) {
  const { cluster } = await client.call('GET /health/status')
  if (!cluster) throw new Refusal('this server is not a node of a cluster: NATS_URL is not set')
  return cluster
}
