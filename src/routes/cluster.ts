import { z } from 'zod'
import * as api from '#api/cluster'
import { defineRoute, type RouteAccess } from '#api/route-entry'
import type { Authenticate, AuthenticationRequest } from '#http/authentication'
import { type Binding, bind, ofEachNode } from '#http/call'
import type { OtherNodes } from '#http/server-context'
import type { Caller, SessionKey } from '#model/caller'
import { Problem, type ProblemCode } from '#model/problem'
import type { RouteContext } from '#routes/context'

/** The credentials with which a client opens an event websocket. */
const Credentials = z.union([
  z.object({ ticket: z.string().max(256) }),
  z.object({
    upgrade: z.object({
      path: z.string(),
      query: z.string(),
      requestId: z.string(),
      forwarded: z.object({ origins: z.array(z.string()), host: z.string(), address: z.string() }),
      headers: z.array(z.object({ name: z.string(), value: z.string(), count: z.number() })),
    }),
  }),
])
type Credentials = z.infer<typeof Credentials>

/** The headers that identify a caller. */
const credentialHeaders = ['authorization', 'dpop', 'x-api-key']

const FoundCaller = z.object({
  refusal: z
    .object({ code: z.string(), message: z.string(), headers: z.record(z.string(), z.string()).optional() })
    .optional(),
  /** Null: the owner refused the credentials, or authentication is off. */
  session: z.object({ kind: z.enum(['session', 'api_key']), tenant: z.string(), id: z.string() }).nullable(),
  /** A node that has read the log up to this message knows the rights of the caller. */
  sequence: z.number(),
  /** Headers for the answer. */
  headers: z.array(z.tuple([z.string(), z.string()])),
})
type FoundCaller = z.infer<typeof FoundCaller>

/** Called by other nodes; the path is not below `/api/v1`. Contract 11. */
const findCaller = defineRoute('findCaller', {
  route: 'POST /cluster/callers',
  summary: 'For other nodes: finds the caller of an event websocket, whose ticket or proof cannot be used again',
  // Access by the key of the nodes.
  access: 'none',
  body: { schema: Credentials },
  answers: {
    200: { description: 'The session of the caller, or why the owner refuses it', schema: FoundCaller },
    404: { description: 'The request is not from a node' },
  },
})

/** Called by other nodes; the path is not below `/api/v1`. Contract 11, Joining. */
const readImage = defineRoute('readNodeImage', {
  route: `GET ${api.imagePath}`,
  summary: 'For other nodes: the database, the firmware images and the history of this node',
  // Access by the key of the nodes.
  access: 'none',
  answers: {
    200: { description: 'A backup with the history', contentType: 'application/octet-stream' },
    404: { description: 'The request is not from a node' },
  },
})

interface CallerOptions {
  readonly otherNodes: OtherNodes
  readonly context: RouteContext
  readonly authenticate: Authenticate
}

export interface ClusterRouteOptions extends CallerOptions {
  readonly makeImage: () => AsyncIterable<Uint8Array>
  /** The number of the last message of the log that this node has stored. */
  readonly sequence: () => number
}

export function clusterRoutes(options: ClusterRouteOptions): Binding[] {
  const { otherNodes, sequence, makeImage } = options
  const route = bind(findCaller, async (call) => {
    if (!otherNodes.isFromNode({ get: (name) => call.header(name) })) throw new Problem('not_found')
    const refused = await otherNodes.notOwner()
    if (refused) return refused
    return { status: 200, json: await foundCaller(options, call.body, sequence) }
  })
  const image = bind(readImage, (call) => {
    if (!otherNodes.isFromNode({ get: (name) => call.header(name) })) throw new Problem('not_found')
    return { status: 200, headers: { 'Content-Type': 'application/octet-stream' }, chunks: makeImage() }
  })
  return [ofEachNode(route), ofEachNode(image)]
}

async function foundCaller(
  options: CallerOptions,
  credentials: Credentials,
  sequence: () => number,
): Promise<FoundCaller> {
  const headers: [name: string, value: string][] = []
  try {
    const { session = null } = await callerHere(options, credentials, (...header) => void headers.push(header))
    return { session, sequence: sequence(), headers }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const { code, message } = error
    return { refusal: { code, message, headers: error.headers }, session: null, sequence: 0, headers }
  }
}

/** Finds the caller in the state of this node. @throws Problem */
function callerHere(
  { context, authenticate }: CallerOptions,
  credentials: Credentials,
  addReplyHeader: (name: string, value: string) => void,
): Caller | Promise<Caller> {
  if ('ticket' in credentials) return context.events.tickets.consume(credentials.ticket)
  const { headers, ...upgrade } = credentials.upgrade
  const sent = (name: string) => headers.find((header) => header.name === name)
  return authenticate(
    {
      ...upgrade,
      method: 'GET',
      header: (name) => sent(name)?.value ?? '',
      headerCount: (name) => sent(name)?.count ?? 0,
      addReplyHeader,
    },
    'session',
  )
}

/** The owner answers this route. `begin` is undefined if this server is not a node of a cluster. */
export function handOverRoute(begin: ((node: string) => void) | undefined): Binding {
  return bind(api.handOver, ({ body }) => {
    if (!begin) throw new Problem('not_found', 'this server is not a node of a cluster: NATS_URL is not set')
    begin(body.node)
    return { status: 204 }
  })
}

export interface OwnersCallersOptions extends CallerOptions {
  /** Waits until this node has stored the message of the log with this number. */
  readonly reach: (sequence: number) => Promise<void>
  /** The current caller of a session. Undefined: authentication is off. */
  readonly callerOf: ((session: SessionKey) => Caller | undefined) | undefined
  readonly anonymous: Caller
}

/**
 * Finds callers of event websockets on any node. For a ticket or a DPoP proof, the owner is asked, which knows all
 * tickets, nonces and used proofs. @throws the Problem with which the owner refuses the credentials; Problem
 * `unauthorized` if the session has ended by then; `storage`
 */
export function ownersCallers(options: OwnersCallersOptions) {
  const { otherNodes, context, reach, callerOf, anonymous } = options
  const find = async (credentials: Credentials, addReplyHeader: (name: string, value: string) => void) => {
    const reply = await otherNodes.forward({
      path: findCaller.path,
      mayRepeat: false,
      since: context.world.monotonic(),
      method: 'POST',
      target: findCaller.path,
      headers: ['Content-Type', 'application/json', 'Host', 'node'],
      body: Buffer.from(JSON.stringify(credentials)),
      signal: new AbortController().signal,
    })
    if (!reply) return await callerHere(options, credentials, addReplyHeader)
    if (reply.status !== 200) throw new Problem('storage')
    const { refusal, session, sequence, headers } = FoundCaller.parse(JSON.parse(reply.text ?? ''))
    for (const [name, value] of headers) addReplyHeader(name, value)
    if (refusal) throw new Problem(refusal.code as ProblemCode, refusal.message, { headers: refusal.headers ?? {} })
    await reach(sequence)
    const caller = session === null || !callerOf ? anonymous : callerOf(session)
    if (!caller) throw new Problem('unauthorized')
    return caller
  }
  return {
    callerOfTicket: (ticket: string) => find({ ticket }, () => {}),
    authenticate(request: AuthenticationRequest, access: RouteAccess) {
      if (request.header('dpop') === '') return options.authenticate(request, access)
      const { path, query, requestId } = request
      const { origins, host, address } = request.forwarded
      // Copied at once: the request is valid only until the first wait.
      const headers = credentialHeaders.map((name) => ({
        name,
        value: request.header(name),
        count: request.headerCount(name),
      }))
      const upgrade = { path, query, requestId, headers, forwarded: { origins: [...origins], host, address } }
      return find({ upgrade }, (name, value) => request.addReplyHeader(name, value))
    },
  }
}
