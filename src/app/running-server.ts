import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getHeapStatistics } from 'node:v8'
import { anonymousCallers } from '#access/built-in-callers'
import type { FirstAdministrator, IdentitySettings } from '#access/options'
import { argon2Engine } from '#access/passwords'
import { WrongFileKey } from '#access/signing-keys'
import { adminCommand } from '#app/admin-command'
import { type Assembly, assemble } from '#app/assembly'
import type { Config } from '#app/config'
import { HistoryThread } from '#app/history-thread'
import { type Log, redactPath } from '#app/log'
import { metricsOf } from '#app/metrics/metrics'
import { ProcessMetrics } from '#app/metrics/process-metrics'
import type { MetricSources } from '#app/metrics/sources'
import { type Mqtt, MqttSettingFailure, openMqtt } from '#app/mqtt'
import { logStartMessages, outboxIn, urlOf } from '#app/start-messages'
import { loopTimes, realWorld } from '#app/world'
import { ClusterFailure } from '#cluster/cluster-failure'
import { ExternalUpdateServer } from '#firmware/external-update-server'
import type { UpdateSettings } from '#firmware/options'
import { defaultLimits } from '#history/retention'
import { ofEachNode } from '#http/call'
import { HttpMetrics } from '#http/http-metrics'
import { CannotListen, openServer, type Server } from '#http/server'
import { version } from '#model/version'
import { emlMail } from '#notifications/eml-mail'
import type { Mail } from '#notifications/mail'
import { smtpMail } from '#notifications/smtp-mail'
import { httpWebhookSender } from '#notifications/webhook-sender'
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
import { copyHistory, historyFolder, removeHistoryCopies } from '#store/backup/database-copy'
import { FileBlobs } from '#store/blobs'
import { KeyFileFailure, readKeyFile, readOrMakeKeyFile } from '#store/key-file'
import { findDamage, levelStorage } from '#store/level'
import { proofOf, removeServerFile, type ServerFile, serverKeyBytes, writeServerFile } from '#store/server-file'
import type { StoreJournal } from '#store/store-journal'

/** One tenant may fill half of the heap: the rest is for frames, answers, shapes and the collector. */
const tenantsInHeap = 2

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

export interface ServeOptions {
  /** A Bearer token for the process that starts the server: with it, a request may do everything. */
  readonly operatorToken?: string
  /** Must show the generated password, because only its hash is stored. */
  readonly administratorGenerated?: NonNullable<FirstAdministrator['generated']>
}

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
  const assembly: Assembly = assemble({
    world: realWorld,
    storage: {
      backend: cluster?.backend ?? localBackend,
      isSynced: config.durability === 'disk',
      retention: { bytesMax: config.streamRetentionBytes, ageMsMax: config.streamRetentionMs },
    },
    publisher,
    limits: {
      ticketLifetimeMs: config.ticketLifetimeMs,
      writeTimeoutMs: config.writeTimeoutMs,
      socketsPerUserMax: config.socketsPerUserMax,
      memory: {
        deviceBytesMax: config.deviceBytesMax,
        tenantBytesMax: config.tenantBytesMax ?? getHeapStatistics().heap_size_limit / tenantsInHeap,
      },
    },
    updates: updatesOf(config, log, updateServer, cluster),
    notifications: {
      mail: mailOf(config, log),
      webhookSender: httpWebhookSender({ world: realWorld, allowed: config.webhookAllow }),
      mailsPerHourMax: config.mailsPerHourMax,
      publicUrls: config.publicUrls,
    },
    ...(config.isIamOn && { identity: identityOf(config, log, options, () => listener.server?.port ?? config.port) }),
    isAuditLogged: config.isAuditLogged,
    ...(config.isHistoryOn && { history: (journal: StoreJournal) => historyOf(config, log, journal) }),
    log,
  })
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
      log,
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
      idempotency: new IdempotentRequests(context),
      audit: context.audit,
      otherNodes: cluster?.forwarder,
      redactPath,
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
  const process = new ProcessMetrics({ world: realWorld, version, dataDirectory, loopTimes })
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

/** History leaves more free space than the store needs to be opened again, so history stops before the store does. */
const historyReserveBytes = 256 * 1024 * 1024

function historyOf(config: Config, log: Log, journal: StoreJournal) {
  const { historyRawMs: rawMs, historyHourlyMs: hoursMs, historyBytesMax: bytesMax = Number.POSITIVE_INFINITY } = config
  return new HistoryThread({
    folder: join(config.dataDirectory, historyFolder),
    limits: { ...defaultLimits, rawMs, hoursMs, bytesMax },
    roomBytes: 2 * config.storageHeadroomBytes + historyReserveBytes,
    rowOf: (key) => journal.get(key),
    failed: (error) => log.error({ err: error }, 'history failed'),
    warned: (message) => log.warn({}, message),
  })
}

function updatesOf(
  config: Config,
  log: Log,
  server: ExternalUpdateServer | undefined,
  cluster: Awaited<ReturnType<typeof clusterOf>>,
): UpdateSettings {
  const { dataDirectory: folder, imageBytesMax, storageHeadroomBytes: headroomBytes } = config
  const local = new FileBlobs({
    folder,
    bytesMax: imageBytesMax,
    headroomBytes,
    now: () => realWorld.now(),
    failed: (error) => log.error({ err: error }, 'an image could not be written or read'),
  })
  return {
    images: cluster?.imagesOf(local) ?? local,
    imageBytesMax,
    ...(server && { server }),
    options: {
      isConnectUpdateDisabled: config.isConnectUpdateDisabled,
      isHookForPinsOnly: config.isHookForPinsOnly,
      autoUpdate: config.autoUpdate,
    },
    offerTimeoutMs: config.updateOfferTimeoutMs,
    publicUrls: config.publicUrls,
    ...(config.updateHookSecret !== undefined && { hookSecret: config.updateHookSecret }),
  }
}

function mailOf({ smtpUrl: url, mailFrom: from, dataDirectory }: Config, log: Log): Mail {
  if (url !== undefined) return smtpMail({ url, from, world: realWorld })
  return emlMail({
    folder: outboxIn(dataDirectory),
    from,
    failed: (error) => log.warn({ err: error }, 'an old mail could not be removed'),
  })
}

function identityOf(config: Config, log: Log, options: ServeOptions, port: () => number): IdentitySettings {
  const { operatorToken, administratorGenerated: generated } = options
  const { adminName: name, adminPassword: password } = config
  return {
    async fileKey(isNeeded) {
      const random = (byteCount: number) => realWorld.random(byteCount)
      const { bytes, warning } = await readOrMakeKeyFile(config.dataDirectory, { random, isNeeded })
      if (warning !== undefined) log.warn({}, warning)
      return bytes
    },
    engine: argon2Engine,
    lifetimes: {
      tokenMs: config.tokenLifetimeMs,
      accessMs: config.accessTokenLifetimeMs,
      refreshMs: config.refreshTokenLifetimeMs,
    },
    publicUrls: config.publicUrls,
    corsOrigins: config.corsOrigins,
    areRateLimitsOn: config.areRateLimitsOn,
    firstAdministrator: {
      ...(name !== undefined && password !== undefined && { configured: { name, password } }),
      exists: (existing) =>
        log.info(
          { name: existing },
          `ADMIN_PASSWORD is not applied: ${existing} exists and keeps its password; for another one, run ${adminCommand} user invite ${existing}`,
        ),
      ...(generated && { generated }),
    },
    ...(operatorToken !== undefined && { operatorToken }),
    port,
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
