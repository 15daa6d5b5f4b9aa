import { expect, test } from 'vitest'
import type { Audit, AuditedRequest } from '#http/request-log'
import { Problem } from '#model/problem'
import { openNode } from '#test/cluster/cluster-node'
import { type HttpFixture, route } from '#test/http/http-fixture'

/** Two nodes with the same key. The owner answers and records the requests that the other one forwards. Contract 12. */

class Recorder implements Audit {
  readonly added: AuditedRequest[] = []

  resourceOfPath(): undefined {}

  resourceOfReply(): undefined {}

  async add(request: AuditedRequest): Promise<void> {
    this.added.push(request)
  }
}

async function open(ownerUrl: () => string): Promise<HttpFixture & { readonly recorder: Recorder }> {
  const recorder = new Recorder()
  const bindings = [
    route('POST', '/things', () => ({ status: 201 })),
    route('DELETE', '/things', () => {
      throw new Problem('conflict')
    }),
  ]
  return { ...(await openNode(ownerUrl, () => ({ bindings, audit: recorder, isProxyTrusted: true }))), recorder }
}

test.each([
  ['POST', 201],
  ['DELETE', 409],
])(
  'a %s that a node forwards is recorded once, by the owner, with the address of the client',
  async (method, status) => {
    const owner = await open(() => 'here')
    const edge = await open(() => `http://127.0.0.1:${owner.port}`)
    const headers = { 'x-forwarded-for': '203.0.113.9' }
    expect((await fetch(`${edge.base}/things`, { method, headers })).status).toBe(status)
    expect(owner.recorder.added).toEqual([
      expect.objectContaining({ method, path: '/api/v1/things', address: '203.0.113.9', status }),
    ])
    expect(edge.recorder.added).toEqual([])
  },
)
