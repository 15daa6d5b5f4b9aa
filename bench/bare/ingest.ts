import { App, type WebSocket } from 'uWebSockets.js'
import { Packr, Unpackr } from 'msgpackr'
import { objectUpdated } from '#bench/bare/object-updated'
import { serveFunctions } from '#bench/harness/remote-functions'

/**
 * The minimum cost of such a server: decodes each frame, makes one event with JSON.stringify, publishes it and
 * acknowledges it. It keeps no state, checks nothing and stores nothing. The server is compared with it.
 */
interface DecodedFrame {
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

function hello(websocket: WebSocket<DecodedFrame>, { deviceIdentifier, services }: Hello): void {
  const flakeAddress = identifiers.size + 1
  identifiers.set(flakeAddress, deviceIdentifier)
  servicesOf.set(flakeAddress, services[0]?.serviceIdentifier ?? '')
  websocket.send(packr.pack({ type: 'WELCOME', flakeAddress, deviceIdentifier, seq: 0, window: 1024 }), true)
}

function update(websocket: WebSocket<DecodedFrame>, [, flakeAddress, seq, , items]: Update): void {
  const device = identifiers.get(flakeAddress)
  const service = servicesOf.get(flakeAddress)
  const message = JSON.stringify(objectUpdated(Date.now(), ++offset, flakeAddress, device, service, items))
  const acknowledgement = packr.pack(['A', flakeAddress, seq])
  if (isGathered) {
    gather(websocket, message, acknowledgement)
    return
  }
  app.publish('events', message)
  websocket.send(acknowledgement, true)
}

/**
 * Within a message handler uWebSockets.js makes one system call for each published message. Publishing after all
 * messages of one turn of the event loop sends them in batches.
 */
let isGathered = false
const gathered: {
  readonly websocket: WebSocket<DecodedFrame>
  readonly message: string
  readonly acknowledgement: Buffer
}[] = []

function gather(websocket: WebSocket<DecodedFrame>, message: string, acknowledgement: Buffer): void {
  if (gathered.push({ websocket, message, acknowledgement }) === 1) setImmediate(letGo)
}

function letGo(): void {
  const batch = gathered.splice(0)
  for (const { message } of batch) app.publish('events', message)
  for (let at = 0; at < batch.length; ) {
    const { websocket } = batch[at] as (typeof batch)[number]
    websocket.cork(() => {
      for (; batch[at]?.websocket === websocket; at++) websocket.send(batch[at]?.acknowledgement as Buffer, true)
    })
  }
}

const app = App()
  .get('/api/v1/events/ticket', (response) => {
    response.end('{"ticket":"bare"}')
  })
  .ws<DecodedFrame>('/api/v1/link', {
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
  .ws<DecodedFrame>('/api/v1/events/:ticket', {
    idleTimeout: 0,
    // No limit: no message may be dropped, and the load reads as fast as it can.
    maxBackpressure: 0,
    open: (websocket) => {
      websocket.subscribe('events')
    },
  })

serveFunctions({
  listen: (asked: { port: number; isGathered: boolean }) =>
    new Promise((resolve, reject) => {
      isGathered = asked.isGathered
      app.listen('127.0.0.1', asked.port, (socket) =>
        socket ? resolve(process.pid) : reject(new Error('not listening')),
      )
    }),
})
