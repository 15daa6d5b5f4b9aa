import { expect, test } from 'vitest'
import { deliveryAddress } from '#actors/delivery/delivery'
import type { WebhookAnswer } from '#model/webhook'
import type { WebhookPost } from '#notifications/webhook-sender'
import { randomLimits } from '#test/simulation/limits'
import { SimulatedNodes } from '#test/simulation/simulated-nodes'
import type { SimulatedReceivers } from '#test/simulation/simulated-receivers'
import { SimulatedServer, tenant } from '#test/simulation/simulated-server'
import { SimulatedWorld } from '#test/simulation/simulated-world'

const graph = {
  nodes: [
    { id: 'when', type: 'trigger', on: 'status' },
    { id: 'hook', type: 'webhook', url: 'https://hooks.example' },
  ],
  edges: [['when', 'hook']],
}

/** An owner and a follower share a log. The owner dies, and the follower takes over. */
test('only the owner sends webhooks, and the next owner repeats those without a stored result', async () => {
  const world = new SimulatedWorld(1)
  const nodes = new SimulatedNodes(world, { world: world.process().world, delayMsMax: 3 })
  const posts: string[] = []
  let answerOf: (value: string) => WebhookAnswer | Promise<WebhookAnswer>
  let servers = 0
  const receivers = {
    seenBy() {
      const node = ++servers
      const post = async ({ body }: WebhookPost) => {
        const { value } = JSON.parse(body).data
        posts.push(`node ${node}: ${value}`)
        return answerOf(value)
      }
      return { faultOf: () => undefined, post, close: () => {} }
    },
    senderDied: () => {},
  } as unknown as SimulatedReceivers
  const limits = randomLimits(world.random, () => world.now())
  const start = (backend: ConstructorParameters<typeof SimulatedServer>[1]) =>
    new SimulatedServer(world, backend, { ...limits, mails: { ...limits.mails, receivers } })
  const done = <Value>(promise: Promise<Value>) => world.pumped(promise)

  const owner = start(nodes)
  await done(owner.open())
  const follower = start(nodes.follower())
  const takenOver = follower.open()
  const body = { name: 'F', enabled: true, binding: { devices: ['A'] }, graph }
  const [root] = JSON.parse((await done(owner.call('listUsers'))).body)
  const asked = owner.call('createFunction', { body, as: root.resourceIdentifier })
  const created = JSON.parse((await done(asked)).body)
  const fn = created.resourceIdentifier.replace('crn#function:', '')
  answerOf = (value) => {
    if (value === 'unanswered') return new Promise<WebhookAnswer>(() => {})
    return value === 'delivered' ? 204 : 503
  }
  for (const value of ['delivered', 'refused', 'unanswered']) {
    const request = {
      at: world.now(),
      device: 'A',
      node: 'hook',
      value,
      previous: null,
      cause: { on: 'status' },
    } as const
    await done(owner.assembly.context.system.ask(deliveryAddress(tenant, fn), { type: 'webhook', request }))
    await world.advance(1_000)
  }
  expect(posts).toEqual(['node 1: delivered', 'node 1: refused', 'node 1: unanswered'])

  owner.die()
  nodes.crash()
  answerOf = () => 204
  await done(takenOver)
  await world.advance(10_000)
  expect(posts.slice(3).sort()).toEqual(['node 2: refused', 'node 2: unanswered'])
  const listed = JSON.parse((await done(follower.call('listDeliveries', { parameters: { functionId: fn } }))).body)
  expect(listed.map(({ status }: { status: string }) => status)).toEqual(Array(3).fill('DELIVERED'))
  expect([owner.errors, follower.errors]).toEqual([[], []])
})
