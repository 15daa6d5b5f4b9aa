import type { Writable } from 'node:stream'
import type { Config, ConfigReading } from '#app/config'
import { createLog } from '#app/log'
import { isPlainFailure, type RunningServer, serve } from '#app/running-server'
import { realWorld } from '#app/world'
import { basePath, type Connection, connectionTo } from '#cli/connection'
import { Misuse, Refusal } from '#cli/exit-codes'
import { type Credentials, connectToServer } from '#cli/running-server'
import { localHostOf, missingProofOf } from '#cli/server-proof'

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
  // Loads the whole server, which is slow.
  const { startPrivateServer } = await import('#cli/server-lookup')
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
