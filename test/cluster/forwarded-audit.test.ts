import { afterEach, expect, test } from 'vitest'
import { Forwarder } from '#cluster/forwarder'
import type { Audit, AuditedRequest } from '#http/request-audit'
import { Problem } from '#model/problem'
import { clusterNode } from '#test/cluster/cluster-node'
import { type HttpFixture, openHttp, route } from '#test/http/http-fixture'

/** Two nodes with the same key. The owner answers and records the requests that the other one forwards. Contract 12. */

class Recorder implements Audit {
  readonly added: AuditedRequest[] = []

  resourceOfPath(): undefined {}

  resourceOfReply(): undefined {}

  async add(request: AuditedRequest): Promise<void> {
    this.added.push(request)
  }
}

interface Node {
  readonly http: HttpFixture
  readonly recorder: Recorder
  readonly forwarder: Forwarder
}

const nodes: Node[] = []
afterEach(async () => {
  for (const { http, forwarder } of nodes.splice(0)) {
    forwarder.close()
    await http.server.close()
  }
})

async function openNode(ownerUrl: () => string): Promise<Node> {
  const recorder = new Recorder()
  const forwarder = new Forwarder(clusterNode({ ownerUrl }))
  const bindings = [
    route('POST', '/things', () => ({ status: 201 })),
    route('DELETE', '/things', () => {
      throw new Problem('conflict')
    }),
  ]
  const http = await openHttp({ bindings, audit: recorder, otherNodes: forwarder, isProxyTrusted: true })
  const node = { http, recorder, forwarder }
  nodes.push(node)
  return node
}

test.each([
  ['POST', 201],
  ['DELETE', 409],
])(
  'a %s that a node forwards is recorded once, by the owner, with the address of the client',
  async (method, status) => {
    const owner = await openNode(() => 'here')
    const edge = await openNode(() => `http://127.0.0.1:${owner.http.port}`)
    const headers = { 'x-forwarded-for': '203.0.113.9' }
    expect((await fetch(`${edge.http.base}/things`, { method, headers })).status).toBe(status)
    expect(owner.recorder.added).toEqual([
      expect.objectContaining({ method, path: '/api/v1/things', address: '203.0.113.9', status }),
    ])
    expect(edge.recorder.added).toEqual([])
  },
)
