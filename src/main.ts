import { existsSync, readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { anonymous } from '#iam/anonymous'
import { deviceRoutes } from '#routes/devices'
import { eventRoutes, eventSockets } from '#routes/events'
import { healthRoutes } from '#routes/health'
import { identityIsOff, identityRoutes } from '#routes/identity'
import { linkRoutes, linkSocket } from '#routes/link'
import { metaRoutes } from '#routes/meta'
import { schemaRoutes } from '#routes/schemas'
import { serviceRoutes } from '#routes/services'
import { closeCodes } from '#runtime/close-codes'
import type { SocketPublisher } from '#runtime/socket'
import { StorageFailure } from '#runtime/storage'
import { CannotListen, openServer, type Server } from '#server/listen'
import { assemble } from '#src/assembly'
import { type Config, configExitCode, readConfig } from '#src/config'
import { helpText } from '#src/config-text'
import { createLog, type Log, redactPath } from '#src/log'
import { realWorld } from '#src/world'
import { levelPlace } from '#store/level'

/** How the server is put together, started and stopped: the only file that knows every room and the environment. */

/** How long requests under way may take to end when the server stops. Contract 8. */
const stopGraceMs = 10_000

/**
 * V8 learns from samples where objects live long, and makes all that come from there in the old space at once. After the
 * first burst of HELLOs it takes what zod hands out for such, 3 KB a HELLO that die within a millisecond: behind 100 000 of
 * them the old space held 160 MB for 97 MB in use, without it 114 MB, and the HELLOs took 8 s instead of 10.
 */
const engineFlags = '--no-allocation-site-pretenuring'

async function main(): Promise<void> {
  setFlagsFromString(engineFlags)
  if (process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) {
    console.log(helpText())
    return
  }
  const reading = readConfig(process.env, existsSync('.env') ? readFileSync('.env', 'utf8') : '')
  if ('mistakes' in reading) {
    for (const mistake of reading.mistakes) console.error(mistake)
    process.exitCode = configExitCode
    return
  }
  const { config, warnings } = reading
  const log = createLog({ level: config.logLevel, isPretty: process.stdout.isTTY === true })
  for (const warning of warnings) log.warn({}, warning)
  try {
    await serve(config, log)
  } catch (error) {
    // Both say what is wrong and what to do; where it was found helps nobody.
    if (error instanceof StorageFailure || error instanceof CannotListen) log.fatal({}, error.message)
    else log.fatal({ err: error }, 'the server could not start')
    process.exitCode = 1
  }
}

async function serve(config: Config, log: Log): Promise<void> {
  const door: { publisher?: SocketPublisher } = {}
  const assembly = assemble({
    world: realWorld,
    place: levelPlace({ folder: config.dataDirectory, headroomBytes: config.storageHeadroomBytes }),
    publisher: { publish: (topic, message) => door.publisher?.publish(topic, message) },
    isSynced: config.durability === 'disk',
    retention: { bytesMax: config.streamRetentionBytes, ageMsMax: config.streamRetentionMs },
    ticketLifetimeMs: config.ticketLifetimeMs,
    log,
  })
  await assembly.open()
  const { context, database, eventRoom } = assembly
  let server: Server
  try {
    server = await openServer({
      world: realWorld,
      log,
      host: config.host,
      port: config.port,
      bindings: [
        ...healthRoutes(context, {
          dataDirectory: config.dataDirectory,
          databaseStatus: () => database.status,
        }),
        ...deviceRoutes(context),
        ...serviceRoutes(context),
        ...schemaRoutes(context),
        ...metaRoutes(context),
        ...eventRoutes(context),
        ...linkRoutes(context),
        ...identityRoutes(),
      ],
      sockets: [
        ...eventSockets(context, eventRoom, () => anonymous),
        linkSocket(context, undefined, config.linkFrameBytesMax),
      ],
      authenticate: () => anonymous,
      cors: { corsOrigins: config.corsOrigins, publicUrls: config.publicUrls, iamOff: !config.isIamOn },
      bodyBytesMax: config.bodyBytesMax,
      closeGraceMs: stopGraceMs,
      redactPath,
      notFound: identityIsOff,
    })
  } catch (error) {
    await assembly.close()
    throw error
  }
  door.publisher = server.publisher
  greet(config, server, log)
  stopOnSignal(async () => {
    log.info({}, 'stopping')
    server.stopListening()
    context.links.stop()
    await server.closeSockets(closeCodes.restarting.code, closeCodes.restarting.reason)
    await server.close()
    await assembly.close()
    log.info({}, 'stopped')
  }, log)
}

function greet(config: Config, server: Server, log: Log): void {
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  const url = `http://${host === '0.0.0.0' ? 'localhost' : host}:${server.port}/api/v1`
  log.warn({}, 'IAM is off: whoever reaches this port may read and change everything')
  log.info({ port: server.port, dataDirectory: config.dataDirectory }, `serving ${url}, try ${url}/devices?depth=2`)
}

function stopOnSignal(stop: () => Promise<void>, log: Log): void {
  let isStopping = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      // A second Ctrl-C means it.
      if (isStopping && signal === 'SIGINT') process.exit(130)
      if (isStopping) return
      isStopping = true
      stop().then(
        () => process.exit(0),
        (error) => {
          log.fatal({ err: error }, 'could not stop in order')
          process.exit(1)
        },
      )
    })
  }
}

await main()
