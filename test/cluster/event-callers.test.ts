import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { type Authenticate, proofProblem } from '#http/authentication'
import { websocketRoute } from '#http/call'
import type { Caller } from '#model/caller'
import { clusterRoutes, ownersCallers } from '#routes/cluster'
import type { RouteContext } from '#routes/context'
import { openNode } from '#test/cluster/cluster-node'
import { admin, type HttpFixture, world } from '#test/http/http-fixture'
import { SocketRecorder } from '#test/http/socket-fixture'

const context = { world } as RouteContext
const session = { kind: 'session', tenant: 'default', id: 'one' } as const
const caller: Caller = { ...admin, session }

interface Node extends HttpFixture {
  readonly recorder: SocketRecorder
}

/** Opens a node that accepts each proof once, like the authenticator of one server. */
async function open(ownerUrl: () => string): Promise<Node> {
  const used = new Set<string>()
  const authenticate: Authenticate = (request) => {
    request.addReplyHeader('DPoP-Nonce', 'next')
    const proof = `${request.header('dpop')} of ${request.path} at ${request.forwarded.origins}`
    if (used.has(proof)) throw proofProblem('proof already used')
    used.add(proof)
    return caller
  }
  const recorder = new SocketRecorder()
  const http = await openNode(ownerUrl, (forwarder) => {
    const common = { context, authenticate, otherNodes: forwarder }
    const { authenticate: byOwner } = ownersCallers({
      ...common,
      reach: async () => {},
      callerOf: ({ id }) => ({ ...caller, session: { ...session, id } }),
      anonymous: admin,
    })
    return {
      rootBindings: clusterRoutes({ ...common, sequence: () => 1, makeImage: async function* () {} }),
      sockets: [
        websocketRoute<Caller>({
          path: '/events',
          handler: recorder,
          maxPayloadBytes: 1024,
          maxBackpressureBytes: 1024,
          upgrade: (request) => byOwner(request, 'session'),
        }),
      ],
    }
  })
  return { ...http, recorder }
}

interface Answer {
  readonly statusCode?: number
  readonly headers?: Readonly<Record<string, unknown>>
}

function upgradeAt({ ws }: Node, proof: string): Promise<Answer | undefined> {
  const socket = new WebSocket(`${ws}/events`, { headers: { dpop: proof, host: 'devices.example' } })
  socket.on('error', () => {})
  return new Promise((resolve) => {
    for (const event of ['upgrade', 'unexpected-response'] as const) {
      socket.once(event, (...given: Answer[]) => {
        resolve(given.at(-1))
        socket.terminate()
      })
    }
  })
}

test('a proof that opened an event socket at one node is refused at every node', async () => {
  const owner = await open(() => 'here')
  const url = `http://127.0.0.1:${owner.port}`
  const others = [await open(() => url), await open(() => url)]
  const [first, second] = others as [Node, Node]
  expect(await upgradeAt(first, 'a')).toMatchObject({ statusCode: 101 })
  expect(first.recorder.get('opened')?.opening).toMatchObject({ session })
  const headers = { 'dpop-nonce': 'next', 'www-authenticate': expect.stringContaining('invalid_dpop_proof') }
  for (const node of [first, second, owner])
    expect(await upgradeAt(node, 'a')).toMatchObject({ statusCode: 401, headers })
  expect(await upgradeAt(owner, 'b')).toMatchObject({ statusCode: 101 })
  expect(await upgradeAt(second, 'b')).toMatchObject({ statusCode: 401 })
})
