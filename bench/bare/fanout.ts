import { App } from 'uWebSockets.js'
import { objectUpdated } from '#bench/bare/object-updated'
import { serveFunctions } from '#bench/harness/remote-functions'
import { Credited, creditPath } from '#bench/load/credit'
import { serviceIdentifier } from '#bench/load/fleet-link'
import { firstPropId } from '#bench/load/update-template'

/**
 * The minimum cost of fan-out: fills numbers into a prepared text and publishes it to one topic, without a hub or
 * permissions. The text has the same bytes as the server's, except for the numbers.
 */
const sample = objectUpdated(0, 0, 4711, 'LOAD-0004711', serviceIdentifier, [firstPropId, 0.5])
const [head = '', middle = '', end = ''] = JSON.stringify(sample).split(/(?<="timestamp":)\d+,"offset":0(?=,)|0\.5/)

let offset = 0

const credited = new Credited((events) => {
  const now = Date.now()
  for (let made = 0; made < events; made++) {
    offset++
    app.publish('events', `${head}${now},"offset":${offset}${middle}${offset / 100}${end}`)
  }
})

const app = App()
  .get('/api/v1/events/ticket', (response) => {
    response.end('{"ticket":"bare"}')
  })
  .ws(creditPath, {
    idleTimeout: 0,
    message: (_, message) => credited.grant(new Uint8Array(message)),
  })
  .ws('/api/v1/events/:ticket', {
    idleTimeout: 0,
    // No limit: nothing may be lost.
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
