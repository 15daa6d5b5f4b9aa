import { join } from 'node:path'
import { anonymous } from '#access/anonymous'
import { assemble } from '#app/assembly'
import { createLog } from '#app/log'
import { realWorld } from '#app/world'
import { serveFunctions } from '#bench/harness/remote-functions'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { Credited, creditPath } from '#bench/load/credit'
import { identifierOf, serviceIdentifier } from '#bench/load/fleet-link'
import { firstPropId } from '#bench/load/update-template'
import { openServer } from '#http/server'
import { websocketRoute } from '#http/websocket-route'
import type { Entry, Reported } from '#model/entry'
import { modifierFlags } from '#model/modifier'
import { type PropertyType, propertyTypeOf } from '#model/property-type'
import { emlMail } from '#notifications/eml-mail'
import { eventRoutes, eventSockets } from '#routes/events'
import type { SocketHandler, SocketPublisher } from '#runtime/socket'
import { StreamHead } from '#runtime/stream-head'
import { fileBlobs } from '#store/blobs'
import { levelPlace } from '#store/level'

/**
 * The server's hub alone: it gets entries as it would after a commit, without links, actors or a database. Measures the
 * cost of sending events to many subscribers.
 */
const devices = 10_000
const log = createLog({ level: 'warn', isPretty: false })
const folder = temporaryFolder('hub-').path
const failed = (error: unknown) => log.error({ err: error }, 'a file')
const door: { publisher?: SocketPublisher } = {}

const { context, eventRoom, open } = assemble({
  world: realWorld,
  storage: {
    place: levelPlace({ folder, headroomBytes: 0 }),
    isSynced: false,
    retention: { bytesMax: 2 ** 30, ageMsMax: 86_400_000 },
  },
  publisher: { publish: (topic, message) => door.publisher?.publish(topic, message) },
  ticketLifetimeMs: 30_000,
  updates: { images: fileBlobs({ folder, bytesMax: 0, headroomBytes: 0, now: realWorld.now, failed }) },
  notifications: { mail: emlMail({ folder: join(folder, 'outbox'), from: 'hub@localhost', failed }) },
  log,
})

const head = new StreamHead<Entry>(anonymous.tenant, 0)
const float = propertyTypeOf('float') as PropertyType
const shape = context.intern(serviceIdentifier, [
  { propId: firstPropId, type: float, modifier: modifierFlags.isReadOnly },
])
const identifiers = Array.from({ length: devices }, (_, device) => identifierOf('LOAD', device))
let offset = 0

function reported(at: number): Reported {
  const device = offset % devices
  return {
    kind: 'reported',
    device: identifiers[device] as string,
    flakeAddress: device + 1,
    shape,
    at,
    timestamp: at,
    seq: Math.floor(offset / devices) + 1,
    items: [0, offset / 100],
  }
}

const credited = new Credited((events) => {
  const now = realWorld.now()
  context.hub.beforeRelease()
  for (let made = 0; made < events; made++) {
    const entry = reported(now)
    context.hub.released(head, entry, ++offset)
  }
})

const creditRoom: SocketHandler<undefined> = {
  opened() {},
  received: (_, message) => credited.grant(message),
  dropped() {},
  drained() {},
  ponged() {},
  closed() {},
}

serveFunctions({
  async listen({ port }: { port: number }) {
    await open()
    const server = await openServer({
      world: realWorld,
      log,
      address: { host: '127.0.0.1', port },
      routes: {
        bindings: eventRoutes(context),
        sockets: [
          ...eventSockets(context, eventRoom, () => anonymous),
          websocketRoute<undefined>({
            path: creditPath.slice('/api/v1'.length),
            room: creditRoom,
            maxPayloadBytes: 1024,
            maxBackpressureBytes: 1024,
            upgrade: () => undefined,
          }),
        ],
      },
      authentication: { authenticate: () => anonymous },
      origins: { cors: { corsOrigins: [], publicUrls: [], iamOff: true } },
    })
    door.publisher = server.publisher
    return process.pid
  },
})
