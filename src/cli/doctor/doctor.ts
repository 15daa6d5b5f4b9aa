import { hostname } from 'node:os'
import type { Config, ConfigReading } from '#app/config'
import { type Finding, hint, ok, wrong } from '#cli/doctor/finding'
import {
  databaseFindings,
  diskFindings,
  folderFindings,
  historyFindings,
  imageFindings,
  messageOf,
} from '#cli/doctor/folder'
import { portFindings } from '#cli/doctor/port'
import { combinationFindings, settingsFindings } from '#cli/doctor/settings'
import { clockFindings, syncFinding } from '#cli/doctor/timing'
import { NoAnswer, requestPage } from '#cli/exchange'
import { ClusterFailure } from '#cluster/cluster-failure'
import { trySmtp } from '#notifications/smtp-mail'
import type { World } from '#runtime/world'

/** The input of the checks. */
export interface DoctorInput {
  readonly reading: ConfigReading
  readonly nodeVersion: string
  /** The text of `/proc/self/limits`, if the system has it. */
  readonly limits: string | undefined
  readonly apiKey: string | undefined
  readonly world: World
}

/**
 * Checks all that a server needs, in the order of dependencies. Changes nothing, except for a temporary file in the
 * data folder, or above it if there is no data folder yet. If settings are invalid, the checks that depend on them are
 * skipped.
 */
export async function* examine({ reading, nodeVersion, limits, apiKey, world }: DoctorInput): AsyncGenerator<Finding> {
  yield nodeFinding(nodeVersion)
  yield openFilesFinding(limits)
  yield* settingsFindings(reading)
  if ('mistakes' in reading) return
  const { config } = reading
  yield* combinationFindings(config)
  yield* await folderFindings(config)
  yield* await databaseFindings(config)
  yield* await historyFindings(config)
  yield* await imageFindings(config)
  yield* await diskFindings(config)
  yield await syncFinding(config, world)
  yield* await clockFindings(config, world)
  yield* await natsFindings(config)
  yield* await portFindings(config, apiKey)
  yield await mailFinding(config)
  yield await updateServerFinding(config)
}

/** The exit codes of doctor. */
export const doctorExitCodes = { ok: 0, problems: 1 } as const

/** The versions of Node that run the server. With another version above the minimum, the launcher installs Node 22. */
export const nodeRange = '^20.19 || ^22.12'

/** `version` has no leading `v`. */
export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isInRange = nodeRange.split(' || ').some((range) => {
    const [ofMajor, leastMinor = 0] = range.slice(1).split('.').map(Number)
    return major === ofMajor && minor >= leastMinor
  })
  if (isInRange) return ok('Node', `v${version}`)
  return wrong('Node', `the server does not run on v${version}`, `install Node 22 (${nodeRange})`)
}

/** The minimum for the limit of open files: LevelDB uses 2 000 files, and each socket uses one file. */
const filesMin = 4_096
const filesRecommended = 20_000

/** `limits`: the text of `/proc/self/limits`, or undefined. */
export function openFilesFinding(limits: string | undefined): Finding {
  const about = 'open files'
  const [, soft] = /^Max open files\s+(\d+|unlimited)\s/m.exec(limits ?? '') ?? []
  if (soft === undefined) return ok(about, 'the system does not report the limit of a process')
  const count = soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft)
  const todo = 'ulimit -n 65536; for systemd LimitNOFILE=65536; for a container --ulimit nofile=65536'
  if (count < filesMin) return wrong(about, `${soft}: too few for the database and its clients`, todo)
  if (count < filesRecommended) return hint(about, `${soft}: enough for about ${count - 2_100} sockets`, todo)
  return ok(about, soft)
}

/** For NATS and for the update server. */
const timeoutMs = 5_000

/** Checks the NATS servers of a cluster. No findings without NATS_URL. */
export async function natsFindings(config: Config): Promise<readonly Finding[]> {
  if (config.natsUrls.length === 0) return []
  const about = 'NATS'
  // Loaded only for a cluster.
  const { checkSync, checkVersion, connectToNats } = await import('#cluster/nats-connection')
  const settings = { servers: config.natsUrls, node: { name: config.nodeName ?? hostname() } }
  const connectWith = (file: string | undefined) =>
    connectToNats(settings, file, { timeout: timeoutMs, maxReconnectAttempts: 0 })
  try {
    const connection = await connectWith(config.natsCredentials)
    const { version } = connection.info ?? {}
    const server = connection.getServer()
    try {
      checkVersion(connection)
    } finally {
      await connection.close()
    }
    const found = ok(about, `${server} is version ${version}`)
    if (config.durability !== 'disk') return [found]
    const system = await connectWith(config.natsSystemCredentials)
    await checkSync(system).finally(() => system.close())
    return [found, ok(about, 'all servers write a message to disk before they acknowledge it')]
  } catch (error) {
    if (!(error instanceof ClusterFailure)) throw error
    return [wrong(about, error.message, 'check NATS_URL, the credentials, the NATS servers and the network to them')]
  }
}

/** Connects and signs in to the mail server. */
export async function mailFinding({ smtpUrl }: Config): Promise<Finding> {
  const about = 'mail'
  if (smtpUrl === undefined) return ok(about, 'SMTP_URL is not set: mails are written to <DATA_DIR>/outbox')
  const { host } = new URL(smtpUrl)
  try {
    await trySmtp(smtpUrl)
    return ok(about, `${host} accepts mail from this machine`)
  } catch (error) {
    const said = withoutSecrets(messageOf(error), smtpUrl)
    return wrong(about, `${host}: ${said}`, 'check SMTP_URL, its user and password, and the network')
  }
}

/** The message of the server may contain the password. */
function withoutSecrets(said: string, smtpUrl: string): string {
  const { password } = new URL(smtpUrl)
  return password === '' ? said : said.replaceAll(decodeURIComponent(password), '…').replaceAll(password, '…')
}

/** A refusal and a missing answer are problems. Does not check which devices the update server knows. */
export async function updateServerFinding({ updateServerUrl, updateServerToken }: Config): Promise<Finding> {
  const about = 'update server'
  if (updateServerUrl === undefined) return ok(about, 'the embedded one')
  const headers: Record<string, string> =
    updateServerToken === undefined ? {} : { authorization: `Bearer ${updateServerToken}` }
  try {
    const { status } = await requestPage(updateServerUrl, timeoutMs, headers)
    if (status === 401 || status === 403) {
      return wrong(about, `${updateServerUrl} refuses the token (${status})`, 'check UPDATE_SERVER_TOKEN')
    }
    if (status >= 500) return hint(about, `${updateServerUrl} answers ${status}`, 'check its log')
    return ok(about, `${updateServerUrl} answers`)
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error
    return wrong(about, `${updateServerUrl}: ${error.message}`, 'check UPDATE_SERVER_URL and the network')
  }
}
