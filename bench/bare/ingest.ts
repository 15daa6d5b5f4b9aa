import { App, type WebSocket } from 'uWebSockets.js'
import { Packr, Unpackr } from 'msgpackr'
import { answerWith } from '#bench/harness/answering'

/**
 * The least that could be called such a server: frames are decoded, one event each is made with JSON.stringify, published
 * to who listens, and acknowledged. It keeps no state, checks nothing, writes nothing down. What ours costs is measured
 * against it.
 */
interface Carried {
  readonly isLink: boolean
}

const packr = new Packr({ useRecords: false })
const unpackr = new Unpackr({ useRecords: false })
const identifiers = new Map<number, string>()
const servicesOf = new Map<number, string>()
let offset = 0

interface Hello {
  readonly type: 'HELLO'
  readonly deviceIdentifier: string
  readonly services: readonly { readonly serviceIdentifier: string }[]
}
type Update = readonly ['U', flakeAddress: number, seq: number, service: number, items: readonly number[]]

function hello(websocket: WebSocket<Carried>, { deviceIdentifier, services }: Hello): void {
  const flakeAddress = identifiers.size + 1
  identifiers.set(flakeAddress, deviceIdentifier)
  servicesOf.set(flakeAddress, services[0]?.serviceIdentifier ?? '')
  websocket.send(packr.pack({ type: 'WELCOME', flakeAddress, deviceIdentifier, seq: 0, window: 1024 }), true)
}

function update(websocket: WebSocket<Carried>, [, flakeAddress, seq, , items]: Update): void {
  const updates: unknown[] = []
  for (let at = 0; at < items.length; at += 2) {
    updates.push({
      tag: 'value',
      modifier: {
        isReadOnly: true,
        isWriteOnly: false,
        isError: false,
        isArray: false,
        isLittleEndian: false,
        isEvent: false,
      },
      propId: items[at],
      type: 'FLOAT',
      value: items[at + 1],
    })
  }
  const event = {
    type: 'OBJECT_UPDATED',
    timestamp: Date.now(),
    offset: ++offset,
    flakeAddress,
    deviceIdentifier: identifiers.get(flakeAddress),
    serviceIdentifier: servicesOf.get(flakeAddress),
    updates,
  }
  app.publish('events', JSON.stringify(event))
  websocket.send(packr.pack(['A', flakeAddress, seq]), true)
}

const app = App()
  .get('/api/v1/events/ticket', (response) => {
    response.end('{"ticket":"bare"}')
  })
  .ws<Carried>('/api/v1/link', {
    idleTimeout: 0,
    maxBackpressure: 0,
    upgrade(response, request, context) {
      const [key, protocol, extensions] = ['key', 'protocol', 'extensions'].map((name) =>
        request.getHeader(`sec-websocket-${name}`),
      ) as [string, string, string]
      response.upgrade({ isLink: true }, key, protocol, extensions, context)
    },
    message(websocket, message) {
      const frame = unpackr.unpack(new Uint8Array(message)) as Update | Hello
      if (Array.isArray(frame)) update(websocket, frame as Update)
      else hello(websocket, frame as Hello)
    },
  })
  .ws<Carried>('/api/v1/events/:ticket', {
    idleTimeout: 0,
    // No limit: nothing may be lost, and the load reads as fast as it can.
    maxBackpressure: 0,
    open: (websocket) => {
      websocket.subscribe('events')
    },
  })

answerWith({
  listen: ({ port }: { port: number }) =>
    new Promise((resolve, reject) => {
      app.listen('127.0.0.1', port, (socket) => (socket ? resolve(process.pid) : reject(new Error('not listening'))))
    }),
})
