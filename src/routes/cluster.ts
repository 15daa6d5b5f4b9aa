import { z } from 'zod'
import * as api from '#api/cluster'
import { defineRoute } from '#api/route-entry'
import { type Binding, bind, ofEachNode } from '#http/call'
import type { OtherNodes } from '#http/other-nodes'
import type { Caller, SessionKey } from '#model/caller'
import { Problem } from '#model/problem'
import type { RouteContext } from '#routes/context'

/** The owner of a ticket. A node that has read the log up to message `sequence` knows the rights of the owner. */
const TicketHolder = z.object({
  /** Null: authentication is off. */
  session: z.object({ kind: z.enum(['session', 'api_key']), tenant: z.string(), id: z.string() }).nullable(),
  sequence: z.number(),
})

/** Between nodes, at the root. Contract 11. */
const useTicket = defineRoute('useTicket', {
  route: 'POST /cluster/tickets',
  source: 'contract 11',
  summary: 'For other nodes: uses a ticket for the event websocket',
  // Access by the key of the nodes.
  access: 'none',
  body: { schema: z.object({ ticket: z.string().max(256) }) },
  answers: {
    200: { description: 'The session of the ticket', schema: TicketHolder },
    404: { description: 'The request is not from a node' },
  },
  example: { status: 200 },
})

/** Between nodes, at the root. Contract 11, Joining. */
const readImage = defineRoute('readNodeImage', {
  route: `GET ${api.imagePath}`,
  source: 'contract 11',
  summary: 'For other nodes: everything in the data folder of this node',
  // Access by the key of the nodes.
  access: 'none',
  answers: {
    200: { description: 'A backup with the history', contentType: 'application/octet-stream' },
    404: { description: 'The request is not from a node' },
  },
  example: { status: 200 },
})

export interface ClusterRouteOptions {
  readonly makeImage: () => AsyncIterable<Uint8Array>
  readonly context: RouteContext
  readonly otherNodes: OtherNodes
  /** The last message of the log that this node has stored. */
  readonly sequence: () => number
}

export function clusterRoutes({ context, otherNodes, sequence, makeImage }: ClusterRouteOptions): Binding[] {
  const route = bind(useTicket, async (call) => {
    if (!otherNodes.isFromNode({ get: (name) => call.header(name) })) throw new Problem('not_found')
    const refused = await otherNodes.notOwner()
    if (refused) return refused
    const { session = null } = context.tickets.consume(call.body.ticket)
    return { status: 200, json: { session, sequence: sequence() } satisfies z.infer<typeof TicketHolder> }
  })
  const image = bind(readImage, (call) => {
    if (!otherNodes.isFromNode({ get: (name) => call.header(name) })) throw new Problem('not_found')
    return { status: 200, headers: { 'Content-Type': 'application/octet-stream' }, chunks: makeImage() }
  })
  return [ofEachNode(route), ofEachNode(image)]
}

/** `begin` undefined: this server is not a node of a cluster. The owner answers. */
export function handOverRoute(begin: ((node: string) => void) | undefined): Binding {
  return bind(api.handOver, ({ body }) => {
    if (!begin) throw new Problem('not_found', 'this server is not a node of a cluster: NATS_URL is not set')
    begin(body.node)
    return { status: 204 }
  })
}

export interface TicketUserOptions {
  readonly otherNodes: OtherNodes
  readonly context: RouteContext
  /** Waits until this node has stored a message of the log. */
  readonly reach: (sequence: number) => Promise<void>
  /** Undefined: authentication is off. */
  readonly callerOf: ((session: SessionKey) => Caller | undefined) | undefined
  readonly anonymous: Caller
}

/**
 * Uses tickets on a node that may not be the owner: the owner knows them. @throws Problem `unauthorized`, `storage`
 */
export function ticketUser(options: TicketUserOptions): (ticket: string) => Caller | Promise<Caller> {
  const { otherNodes, context, reach, callerOf, anonymous } = options
  return async (ticket) => {
    if (otherNodes.isOwner) return context.tickets.consume(ticket)
    const reply = await otherNodes.forward({
      path: useTicket.path,
      mayRepeat: false,
      since: context.world.monotonic(),
      method: 'POST',
      target: useTicket.path,
      headers: ['Content-Type', 'application/json', 'Host', 'node'],
      body: Buffer.from(JSON.stringify({ ticket })),
      signal: new AbortController().signal,
    })
    if (!reply) return context.tickets.consume(ticket)
    if (reply.status !== 200) throw new Problem(reply.status === 401 ? 'unauthorized' : 'storage')
    const { session, sequence } = TicketHolder.parse(JSON.parse(reply.text ?? ''))
    await reach(sequence)
    const caller = session === null || !callerOf ? anonymous : callerOf(session)
    if (!caller) throw new Problem('unauthorized', 'invalid or expired ticket')
    return caller
  }
}
