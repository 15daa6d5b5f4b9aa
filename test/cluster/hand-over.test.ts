import { expect, test } from 'vitest'
import { clusterNode } from '#test/cluster/cluster-node'
import { ManualWorld } from '#test/runtime/manual-world'

test('a second hand-over is refused from the first moment until the first one has ended', async () => {
  const world = new ManualWorld()
  const next = { name: 'next', url: 'http://127.0.0.1:2', sequence: 0, lag: { entries: 0, ms: 0 } }
  const node = clusterNode({ ownerUrl: () => 'here', world, others: [next] })
  const handOver = () => node.handOver('next', async () => {})
  handOver()
  // The answer to the request is still sent by this owner.
  expect(node.isOwner).toBe(true)
  expect(handOver).toThrow('another hand-over is in progress')
  await world.advance(150)
  expect(node.isOwner).toBe(false)
  expect(handOver).toThrow('another hand-over is in progress')
  await world.advance(1_000)
  expect(node.isOwner).toBe(true)
  expect(handOver).not.toThrow()
})
