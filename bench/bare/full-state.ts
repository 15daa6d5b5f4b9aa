import { App, type HttpResponse } from 'uWebSockets.js'
import { serveFunctions } from '#bench/harness/remote-functions'
import { identifierOf, serviceIdentifier } from '#bench/load/fleet-link'
import { firstPropId } from '#bench/load/update-template'

/**
 * The minimum cost of a full read: plain objects that have the form of the answer already, sent as one JSON.stringify.
 * It blocks all other clients meanwhile.
 */
interface FleetSize {
  readonly port: number
  readonly devices: number
  readonly properties: number
  readonly prefix: string
}

let state: unknown

/** As `GET /api/v1/devices?depth=2` answers it. */
function stateOf({ devices, properties, prefix }: FleetSize): unknown {
  const timestamp = Date.now()
  return Array.from({ length: devices }, (_, device) => ({
    deviceIdentifier: identifierOf(prefix, device),
    services: [
      {
        serviceIdentifier,
        properties: Object.fromEntries(
          Array.from({ length: properties }, (_, place) => [
            firstPropId + place,
            {
              tag: 'value',
              modifier: { isReadOnly: true, isActionable: false, isVolatile: false, isError: false, isArray: false },
              propId: firstPropId + place,
              type: 'FLOAT',
              value: (device * properties + place) / 100,
              timestamp,
            },
          ]),
        ),
      },
    ],
  }))
}

/** When the socket takes more, continues after the last byte that it took. */
function answerWhole(response: HttpResponse, bytes: Buffer): void {
  let isGone = false
  response.onAborted(() => {
    isGone = true
  })
  response.onWritable(() => {
    if (!isGone) offer(response, bytes)
    return true
  })
  response.cork(() => {
    response.writeHeader('Content-Type', 'application/json')
    offer(response, bytes)
  })
}

function offer(response: HttpResponse, bytes: Buffer): void {
  response.tryEnd(bytes.subarray(response.getWriteOffset()), bytes.byteLength)
}

const app = App().get('/api/v1/devices', (response) => {
  answerWhole(response, Buffer.from(JSON.stringify(state)))
})

serveFunctions({
  listen: (asked: FleetSize) =>
    new Promise((resolve, reject) => {
      state = stateOf(asked)
      app.listen('127.0.0.1', asked.port, (socket) =>
        socket ? resolve(process.pid) : reject(new Error('not listening')),
      )
    }),
})
