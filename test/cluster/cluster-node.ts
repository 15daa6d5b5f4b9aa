import { onTestFinished } from 'vitest'
import { Forwarder } from '#cluster/forwarder'
import type { NodeState } from '#cluster/nats-nodes'
import { ClusterNode, type ClusterNodeParts } from '#cluster/node'
import type { World } from '#runtime/world'
import { type HttpFixture, type HttpFixtureOptions, openHttp, world as realWorld } from '#test/http/http-fixture'

interface ClusterNodeOptions {
  /** The address of the owner. `here` means that this node is the owner. */
  readonly ownerUrl: () => string | undefined
  readonly world?: World
  readonly others?: readonly NodeState[]
}

/** A cluster node without a log. All these nodes have the same key. */
export function clusterNode({ ownerUrl, world = realWorld, others = [] }: ClusterNodeOptions) {
  const changed: (() => void)[] = []
  const lease: ClusterNodeParts['lease'] = {
    get isHeld() {
      return ownerUrl() === 'here'
    },
    get holder() {
      const url = ownerUrl()
      return url === undefined || url === 'here' ? undefined : { name: 'owner', url }
    },
    changed,
    handOver: async () => {},
  }
  return new ClusterNode({
    world,
    node: { name: 'edge', url: 'http://127.0.0.1:1' },
    lease,
    nodes: { all: () => others, others, silentMs: 0 },
    fileKey: new Uint8Array(32),
    isWritable: () => true,
    isSettled: () => true,
    position: () => ({ sequence: 0, generation: 0 }),
  })
}

/** Opens the HTTP server of a node until the end of the test. */
export async function openNode(
  ownerUrl: () => string,
  optionsOf: (forwarder: Forwarder) => HttpFixtureOptions,
): Promise<HttpFixture> {
  const forwarder = new Forwarder(clusterNode({ ownerUrl }))
  const http = await openHttp({ ...optionsOf(forwarder), otherNodes: forwarder })
  onTestFinished(async () => {
    forwarder.close()
    await http.server.close()
  })
  return http
}
