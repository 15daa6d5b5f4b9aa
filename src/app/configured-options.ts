import { join } from 'node:path'
import { getHeapStatistics } from 'node:v8'
import type { FirstAdministrator, IdentitySettings } from '#access/options'
import { argon2Engine } from '#access/passwords'
import { adminCommand } from '#app/admin-command'
import type { AssemblyOptions } from '#app/assembly-options'
import type { Config } from '#app/config'
import { HistoryThread } from '#app/history-thread'
import type { Log } from '#app/log'
import { outboxIn } from '#app/start-messages'
import { realWorld } from '#app/world'
import type { ExternalUpdateServer } from '#firmware/external-update-server'
import type { UpdateSettings } from '#firmware/options'
import { defaultLimits } from '#history/retention'
import { emlMail } from '#notifications/eml-mail'
import type { Mail } from '#notifications/mail'
import { smtpMail } from '#notifications/smtp-mail'
import { httpWebhookSender } from '#notifications/webhook-sender'
import type { BlobStore } from '#runtime/blobs'
import type { SocketPublisher } from '#runtime/socket'
import type { StorageBackend } from '#runtime/storage'
import { historyFolder } from '#store/backup/database-copy'
import { FileBlobs } from '#store/blobs'
import { readOrMakeKeyFile } from '#store/key-file'
import type { StoreJournal } from '#store/store-journal'

/** One tenant may fill half of the heap: the rest is for frames, answers, shapes and the collector. */
const tenantsInHeap = 2

interface ClusterStorage {
  readonly backend: StorageBackend
  imagesOf(local: BlobStore): BlobStore
}

interface ConfiguredParts extends ServeOptions {
  readonly config: Config
  readonly log: Log
  readonly publisher: SocketPublisher
  readonly localBackend: StorageBackend
  /** Undefined: this server is not a node of a cluster. */
  readonly cluster: ClusterStorage | undefined
  readonly updateServer: ExternalUpdateServer | undefined
  /** The port of the server, once it listens. */
  readonly port: () => number
}

export interface ServeOptions {
  /** A Bearer token for the process that starts the server: with it, a request may do everything. */
  readonly operatorToken?: string
  /** Must show the generated password, because only its hash is stored. */
  readonly administratorGenerated?: NonNullable<FirstAdministrator['generated']>
}

/** The options of the assembly, from the settings of a real server. */
export function configuredOptions(parts: ConfiguredParts): AssemblyOptions {
  const { config, log, publisher, localBackend, cluster, updateServer } = parts
  const tenantBytesMax = config.tenantBytesMax ?? getHeapStatistics().heap_size_limit / tenantsInHeap
  return {
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
      memory: { deviceBytesMax: config.deviceBytesMax, tenantBytesMax },
    },
    updates: updatesOf(config, log, updateServer, cluster),
    notifications: {
      mail: mailOf(config, log),
      webhookSender: httpWebhookSender({ world: realWorld, allowed: config.webhookAllow }),
      mailsPerHourMax: config.mailsPerHourMax,
      publicUrls: config.publicUrls,
    },
    ...(config.isIamOn && { identity: identityOf(parts) }),
    isAuditLogged: config.isAuditLogged,
    ...(config.isHistoryOn && { history: (journal: StoreJournal) => historyOf(config, log, journal) }),
    log,
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
  cluster: ClusterStorage | undefined,
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

function identityOf({
  config,
  log,
  port,
  operatorToken,
  administratorGenerated: generated,
}: ConfiguredParts): IdentitySettings {
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
