import { App, type WebSocket } from 'uWebSockets.js'
import { Packr, Unpackr } from 'msgpackr'
import { objectUpdated } from '#bench/bare/object-updated'
import { serveFunctions } from '#bench/harness/remote'

/**
 * A server that does only the minimum: it decodes each frame, makes an event of it with JSON.stringify, publishes the
 * event and acknowledges the frame. It keeps no state, checks nothing and stores nothing. Our server is compared with
 * it.
 */

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

function hello(websocket: WebSocket<unknown>, { deviceIdentifier, services }: Hello): void {
  const flakeAddress = identifiers.size + 1
  identifiers.set(flakeAddress, deviceIdentifier)
  servicesOf.set(flakeAddress, services[0]?.serviceIdentifier ?? '')
  websocket.send(packr.pack({ type: 'WELCOME', flakeAddress, deviceIdentifier, seq: 0, window: 1024 }), true)
}

function update(websocket: WebSocket<unknown>, [, flakeAddress, seq, , items]: Update): void {
  const device = identifiers.get(flakeAddress)
  const service = servicesOf.get(flakeAddress)
  const message = JSON.stringify(objectUpdated(Date.now(), ++offset, flakeAddress, device, service, items))
  app.publish('events', message)
  websocket.send(packr.pack(['A', flakeAddress, seq]), true)
}

const app = App()
  .ws('/api/v1/link', {
    idleTimeout: 0,
    maxBackpressure: 0,
    message(websocket, message) {
      const frame = unpackr.unpack(new Uint8Array(message)) as Update | Hello
      if (Array.isArray(frame)) update(websocket, frame as Update)
      else hello(websocket, frame as Hello)
    },
  })
  .ws('/api/v1/events', {
    idleTimeout: 0,
    // Without a limit, because no message may be dropped; the load reads as fast as it can.
    maxBackpressure: 0,
    open: (websocket) => {
      websocket.subscribe('events')
    },
  })

serveFunctions({
  listen: ({ port }: { port: number }) =>
    new Promise((resolve, reject) => {
      app.listen('127.0.0.1', port, (socket) => (socket ? resolve(process.pid) : reject(new Error('not listening'))))
    }),
})
