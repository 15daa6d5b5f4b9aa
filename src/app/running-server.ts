import { fileURLToPath } from 'node:url'
import { anonymousCallers } from '#access/built-in-callers'
import { argon2Engine } from '#access/passwords'
import { WrongFileKey } from '#access/signing-keys'
import { type Assembly, assemble } from '#app/assembly'
import type { Config } from '#app/config'
import { configuredOptions, type ServeOptions } from '#app/configured-options'
import { type Log, redactPath } from '#app/log'
import { metricsOf } from '#app/metrics/metrics'
import { ProcessMetrics } from '#app/metrics/process-metrics'
import type { MetricSources } from '#app/metrics/sources'
import { type Mqtt, MqttSettingFailure, openMqtt } from '#app/mqtt'
import { logStartMessages, urlOf } from '#app/start-messages'
import { realWorld } from '#app/world'
import { ClusterFailure } from '#cluster/cluster-failure'
import { ExternalUpdateServer } from '#firmware/external-update-server'
import { ofEachNode } from '#http/call'
import { HttpMetrics } from '#http/http-metrics'
import { CannotListen, openServer, type Server } from '#http/server'
import { bindingsOf, rootBindingsOf, socketsOf } from '#routes/bindings'
import { IdempotentRequests } from '#routes/idempotency'
import { metricsRoutes } from '#routes/metrics'
import { readPageFiles } from '#routes/pages/page-files'
import { descriptionRoutes, pageRoutes } from '#routes/pages/page-routes'
import { identityOffProblem } from '#routes/sessions'
import { closeCodes } from '#runtime/close-codes'
import type { SocketPublisher } from '#runtime/socket'
import { type StorageBackend, StorageFailure } from '#runtime/storage'
import { Backups } from '#store/backup/backup-writer'
import { copyHistory, removeHistoryCopies } from '#store/backup/database-copy'
import { KeyFileFailure, readKeyFile } from '#store/key-file'
import { findDamage, levelStorage } from '#store/level'
import { proofOf, removeServerFile, type ServerFile, serverKeyBytes, writeServerFile } from '#store/server-file'

/** The time that requests in progress get to finish when the server stops. Contract 8. */
const stopGraceMs = 10_000

/**
 * The time until an answer must begin. A request that waits for a device may take the device's timeout plus a margin.
 */
const requestDeadlineMs = 60_000
const writeMarginMs = 15_000
const offerMarginMs = 45_000

/** The build's output for browsers; empty when the sources run directly. */
const pagesFolder = fileURLToPath(new URL('../../pages', import.meta.url))

export interface RunningServer {
  readonly port: number
  readonly mqttPorts: Mqtt['ports']
  /** Includes the base path of the API. */
  readonly url: string
  /** Answers requests in progress, stores everything, and closes. */
  stop(): Promise<void>
}

/** Errors whose messages say what is wrong and what to do, so that no stack is needed. */
const operatorErrors = [ClusterFailure, StorageFailure, CannotListen, KeyFileFailure, WrongFileKey, MqttSettingFailure]

/** Whether the operator can fix an error of `serve`. Any other error is a bug. */
export function isPlainFailure(error: unknown): error is Error {
  return operatorErrors.some((kind) => error instanceof kind)
}

/** Starts the whole server with these settings, up to an open port. */
export async function serve(config: Config, log: Log, options: ServeOptions = {}): Promise<RunningServer> {
  if (config.isIamOn) argon2Engine.begin()
  const listener: { server?: Server } = {}
  const publisher: SocketPublisher = {
    publish: (topic, message) => listener.server?.publisher.publish(topic, message),
  }
  const { updateServerUrl, updateServerToken: token } = config
  const updateServer =
    updateServerUrl === undefined
      ? undefined
      : new ExternalUpdateServer({ url: updateServerUrl, world: realWorld, ...(token !== undefined && { token }) })
  const localBackend = levelStorage({
    folder: config.dataDirectory,
    headroomBytes: config.storageHeadroomBytes,
    isShared: config.natsUrls.length > 0,
    torn: (finding) => log.warn({}, `${finding}: a commit that was never acknowledged, or damage; it is ignored`),
  })
  const isWritable = () => {
    const { system } = assembly.context
    return assembly.components.isOpen && assembly.database.status === 'ok' && system.isServing && system.gate.isOpen
  }
  const cluster = await clusterOf(config, log, localBackend, {
    isWritable,
    isSettled: () => assembly.database.status === 'ok' && assembly.context.system.gate.isSettled,
  })
  const port = () => listener.server?.port ?? config.port
  const assembly: Assembly = assemble(
    configuredOptions({ config, log, publisher, localBackend, cluster, updateServer, port, ...options }),
  )
  const pages = await readPageFiles(pagesFolder)
  await openAssembly(assembly, config, log).catch(async (error: unknown) => {
    await cluster?.close()
    throw error
  })
  await removeHistoryCopies(config.dataDirectory)
  const { context, database, eventSocketHandler, identity } = assembly
  const backups = backupsOf(assembly, config.dataDirectory, log)
  const inFlight = () => listener.server?.inFlight() ?? 0
  let mqtt: Mqtt | undefined
  const ofMqtt = () => mqtt?.metrics
  const metrics = metricsParts(config, assembly, { backups, updateServer, inFlight, cluster, mqtt: ofMqtt })
  const key = Buffer.from(realWorld.random(serverKeyBytes)).toString('base64url')
  let server: Server
  try {
    mqtt = await openMqtt(config, log, assembly, isWritable, cluster)
    const { dataDirectory, linkFrameBytesMax } = config
    server = await openServer({
      world: realWorld,
      logging: { log, redactPath },
      address: { host: config.host, port: config.port },
      routes: {
        bindings: [
          ...bindingsOf(context, identity, {
            dataDirectory,
            databaseStatus: () => database.status,
            proofOf: (challenge) => proofOf(key, challenge),
            cluster: cluster?.node,
            handOver: cluster && ((node) => cluster.handOverTo(node, assembly)),
            backups,
          }),
          ...descriptionRoutes(pages).map(ofEachNode),
        ],
        rootBindings: [
          ...rootBindingsOf(identity),
          ...[...metrics.bindings, ...pageRoutes(pages)].map(ofEachNode),
          ...(cluster?.routesOf(assembly) ?? []),
        ],
        sockets: socketsOf(context, identity, eventSocketHandler, linkFrameBytesMax, cluster?.socketsOf(assembly)),
        rootSockets: mqtt.sockets,
        ...(!identity && { notFound: identityOffProblem }),
      },
      authentication: identity ?? { authenticate: anonymousCallers(config.updateHookSecret) },
      origins: {
        cors: { corsOrigins: config.corsOrigins, publicUrls: config.publicUrls, iamOff: !config.isIamOn },
        isProxyTrusted: config.isProxyTrusted,
      },
      limits: {
        bodyBytesMax: config.bodyBytesMax,
        streamedBytesMax: config.imageBytesMax,
        requestDeadlineMs: Math.max(
          requestDeadlineMs,
          config.writeTimeoutMs + writeMarginMs,
          config.updateOfferTimeoutMs + offerMarginMs,
        ),
        closeGraceMs: stopGraceMs,
      },
      changes: { idempotency: new IdempotentRequests(context), audit: context.audit },
      otherNodes: cluster?.forwarder,
      metrics: metrics.http,
    })
  } catch (error) {
    mqtt?.stopListening()
    await assembly.close()
    await cluster?.close()
    throw error
  }
  listener.server = server
  const file = serverFileOf(config.dataDirectory, log)
  await file.write({ host: config.host, port: server.port, key })
  metrics.process.start()
  const url = urlOf(config, server.port)
  logStartMessages(config, log, url, server.port)
  return {
    port: server.port,
    mqttPorts: mqtt.ports,
    url,
    async stop() {
      log.info({}, 'stopping')
      server.stopListening()
      mqtt.stopListening()
      backups.stop()
      assembly.stop()
      updateServer?.stop()
      context.devices.links.stop()
      cluster?.tunnels.stop()
      await mqtt.closeConnections()
      await server.closeSockets(closeCodes.restarting.code, closeCodes.restarting.reason)
      await cluster?.handOver(assembly)
      await server.close()
      await file.remove()
      await assembly.close()
      await cluster?.close()
      metrics.process.stop()
      log.info({}, 'stopped')
    },
  }
}

type ClusterStore = Parameters<typeof import('#app/cluster').joinCluster>[3]

/** Undefined without `NATS_URL`. The code of the cluster is then not loaded. */
async function clusterOf(config: Config, log: Log, backend: StorageBackend, store: ClusterStore) {
  if (config.natsUrls.length === 0) return undefined
  const { joinCluster } = await import('#app/cluster')
  return await joinCluster(config, log, backend, store)
}

/** Resolves when the server answers. A node of a cluster also answers while another node is the owner. */
async function openAssembly(assembly: Assembly, { dataDirectory }: Config, log: Log): Promise<void> {
  let following = () => {}
  const isFollowing = new Promise<void>((resolve) => {
    following = resolve
  })
  const opening = assembly
    .open(() => following())
    .catch(async (error: unknown) => {
      const isOfOthers = isPlainFailure(error) && !(error instanceof StorageFailure)
      throw isOfOthers ? error : await findDamage(error, dataDirectory)
    })
  await Promise.race([isFollowing, opening])
  opening.catch((error: unknown) => {
    if (assembly.database.status !== 'closed') log.fatal({ err: error }, 'this node can no longer follow the others')
  })
}

/** The sources of `/metrics`: existing counters, and the few that only metrics need. Contract 8. */
function metricsParts(
  { dataDirectory, metricsToken: token }: Config,
  { metricParts, context, database, identity }: Assembly,
  others: Pick<MetricSources, 'backups' | 'updateServer' | 'inFlight' | 'cluster' | 'mqtt'>,
) {
  const http = new HttpMetrics()
  const process = new ProcessMetrics(realWorld, dataDirectory)
  const metrics = metricsOf({
    ...metricParts,
    ...context,
    database,
    http,
    identity: identity?.metrics,
    process,
    ...others,
  })
  return { http, process, bindings: metricsRoutes({ world: realWorld, metrics, token }) }
}

/** Without the file, commands do not find this server; the server runs without it. */
function serverFileOf(folder: string, log: Log) {
  const failed = (error: unknown) =>
    log.warn({ err: error }, 'could not write or remove server.json, by which commands find this server')
  return {
    write: (file: ServerFile) => writeServerFile(folder, file).catch(failed),
    remove: () => removeServerFile(folder).catch(failed),
  }
}

function backupsOf({ context, database }: Assembly, dataDirectory: string, log: Log): Backups {
  return new Backups({
    world: realWorld,
    snapshot: () => database.snapshot(),
    images: context.firmware.images,
    keyFile: () => readKeyFile(dataDirectory),
    keepImages: () => context.firmware.imageUses.keepAll(),
    copyHistory: () => copyHistory(dataDirectory),
    log: {
      begun: (user) => log.warn({ user }, 'a full backup, including all secrets, is being sent'),
      done: (user, bytes) => log.info({ user, bytes }, 'the backup was sent completely'),
      aborted: (user, bytes) => log.warn({ user, bytes }, 'a backup was interrupted'),
    },
  })
}
