import type { Writable } from 'node:stream'
import { challengeBytes, challengeHeader, proofHeader, readHealth } from '#api/health'
import type { Config, ConfigReading } from '#app/config'
import { createLog } from '#app/log'
import type { RunningServer } from '#app/running-server'
import { realWorld } from '#app/world'
import { basePath, type Connection, type Credentials, connectionTo, connectToServer } from '#cli/connection'
import { requestPage } from '#cli/exchange'
import { Misuse, Refusal } from '#cli/exit-codes'
import { proofOf, readServerFile, type ServerFile } from '#store/server-file'

export interface ConnectTarget {
  /** From `--url`. Without it, the server of the configuration is meant, running or not. */
  readonly url: string | undefined
  readonly reading: ConfigReading
  readonly credentials: Credentials
  /** Standard error. */
  readonly notes: Writable
}

/**
 * Connects to the server; or, if nothing listens at the configured address, starts a server in this process on the data
 * folder for this command. Not with `--url`, because that names a particular server.
 *
 * @throws Misuse, Refusal, NoAnswer
 */
export async function connect(target: ConnectTarget): Promise<Connection> {
  const found = await findServer(target, false)
  if ('client' in found) return found
  const { config, offlineReason } = found
  if (!config.isIamOn) throw new Refusal(`IAM is off, so there is nothing to manage: set IAM=on (${offlineReason})`)
  if (config.natsUrls.length > 0) {
    throw new Refusal(
      `${offlineReason}: this node of a cluster is stopped; use --url with the address of a running one`,
    )
  }
  return startPrivateServer(found, target.notes)
}

export interface NoServer {
  readonly config: Config
  /** Why the command works on the data folder. */
  readonly offlineReason: string
}

/**
 * Finds the server at `--url`, or the server of the configuration, which must prove that it uses the data folder.
 * `isOpenAllowed`: authentication may be off.
 * @throws Misuse, Refusal, NoAnswer
 */
export async function findServer(
  { url, reading, credentials }: Omit<ConnectTarget, 'notes'>,
  isOpenAllowed: boolean,
): Promise<Connection | NoServer> {
  if (url !== undefined) {
    const base = baseOf(url)
    const connection = await connectToServer(base, credentials, isOpenAllowed)
    if (!connection) throw new Refusal(`nothing answers at ${base}`)
    return connection
  }
  const config = configOf(reading)
  const base = addressOf(config)
  if (base === undefined) return { config, offlineReason: 'PORT is 0, so a running server cannot be found' }
  const connection = await connectToServer(base, credentials, isOpenAllowed, () => missingProofOf(base, config))
  return connection ?? { config, offlineReason: `nothing answers at ${base}` }
}

/** @throws Misuse for settings that the server would refuse */
export function configOf(reading: ConfigReading): Config {
  if ('mistakes' in reading) throw new Misuse(reading.mistakes.join('\n'))
  return reading.config
}

/** Adds the base path if it is missing. */
function baseOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed || !['http:', 'https:'].includes(parsed.protocol) || parsed.search || parsed.hash) {
    throw new Misuse(`--url: got '${url}', takes an address such as http://127.0.0.1:8080`)
  }
  if (parsed.username || parsed.password) throw new Misuse('--url takes no password: set ADMIN_NAME and ADMIN_PASSWORD')
  const address = parsed.href.replace(/\/+$/, '')
  return address.endsWith(basePath) ? address : address + basePath
}

/** The address of a server with this configuration on this machine; undefined if its port is random. */
export function addressOf({ host, port }: Config): string | undefined {
  if (port === 0) return undefined
  const near = localHostOf(host)
  return `http://${near.includes(':') ? `[${near}]` : near}:${port}${basePath}`
}

/** 256 bits. */
const tokenBytes = 32

/**
 * Starts a server on the data folder in this process, on loopback and a random port, with a token that only this
 * process has. This grants nothing new: a user with write access to the folder may change everything.
 *
 * @throws Refusal if the folder is in use or can't be opened
 */
export async function startPrivateServer({ config, offlineReason }: NoServer, notes: Writable): Promise<Connection> {
  notes.write(`${offlineReason}: working on the data folder ${config.dataDirectory} of the stopped server\n`)
  const token = Buffer.from(realWorld.random(tokenBytes)).toString('base64url')
  const running = await startServer(config, token, notes)
  return { ...connectionTo(running.url, { token }), close: () => running.stop() }
}

async function startServer(config: Config, operatorToken: string, notes: Writable): Promise<RunningServer> {
  // The whole server is slow to load, and most commands do not need it.
  const { isPlainFailure, serve } = await import('#app/running-server')
  // Standard output is for results only.
  const log = createLog({ level: 'warn', isPretty: true, stream: notes })
  // History is off here: the next start of the server adds what is missing from the stream.
  const privateConfig = { ...config, host: '127.0.0.1', port: 0, isProxyTrusted: false, isHistoryOn: false }
  try {
    return await serve(privateConfig, log, { operatorToken })
  } catch (error) {
    if (!isPlainFailure(error)) throw error
    throw new Refusal(`${error.message}\nIf the server runs on another address, use --url.`)
  }
}

/** The same time limit as for other requests to a server. */
const timeoutMs = 10_000

/**
 * Returns why the server at `base` may be another server than that of this configuration; undefined if it has proved
 * that it uses the data folder. While the configured server is down, another user of this machine could use its port
 * and receive the credentials of an administrator.
 *
 * @throws NoAnswer
 */
export async function missingProofOf(base: string, config: Config): Promise<string | undefined> {
  const { dataDirectory } = config
  const file = await readServerFile(dataDirectory)
  if (!file) return `${dataDirectory} has no running server, or this user may not read it`
  if (!isOnlyListenerAt(file, config)) return `the server on ${dataDirectory} listens at ${file.host}:${file.port}`
  const challenge = Buffer.from(realWorld.random(challengeBytes)).toString('base64url')
  const { headers } = await requestPage(base + readHealth.path, timeoutMs, { [challengeHeader]: challenge })
  // A timing-safe comparison is not needed, because each challenge is used once.
  return headers.get(proofHeader) === proofOf(file.key, challenge)
    ? undefined
    : `it did not prove that it uses ${dataDirectory}`
}

/**
 * Whether the server of the file is the only one that can listen at the address. Otherwise another process could listen
 * there and forward the challenge.
 */
function isOnlyListenerAt(file: ServerFile, config: Config): boolean {
  const asked = localHostOf(config.host)
  const isIpv4 = /^[\d.]+$/.test(asked)
  const hosts = [asked, ...(isIpv4 ? ['0.0.0.0'] : []), ...(isIpv4 || asked.includes(':') ? ['::'] : [])]
  return file.port === config.port && hosts.includes(file.host)
}

/** The address on this machine of a server that listens at `host`. */
function localHostOf(host: string): string {
  return { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host
}
