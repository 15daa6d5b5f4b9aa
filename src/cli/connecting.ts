import type { Writable } from 'node:stream'
import type { Config, ConfigReading } from '#app/config'
import { basePath, type Connection } from '#cli/connection'
import { Misuse, Refusal } from '#cli/ending'
import { nearOf, whyNotOurs } from '#cli/proven-server'
import { type Credentials, meet } from '#cli/running-server'

export interface Wanted {
  /** As given; without one the server of the configuration is meant, running or not. */
  readonly url: string | undefined
  readonly reading: ConfigReading
  readonly credentials: Credentials
  /** Standard error. */
  readonly notes: Writable
}

/**
 * The server that answers; or, where none listens at the configured address, one in this process on the data folder, for
 * this command alone. Never that for an address that was given: it names a server, and no other will do.
 *
 * @throws Misuse, Refusal, NoAnswer
 */
export async function connect(wanted: Wanted): Promise<Connection> {
  const found = await findServer(wanted, false)
  if ('client' in found) return found
  const { config, unheard } = found
  if (!config.isIamOn) throw new Refusal(`IAM is off, so there is nothing to administer: set IAM=on (${unheard})`)
  // Loads all of the server, which takes long.
  const { startForOneself } = await import('#cli/stopped-server')
  return startForOneself(found, wanted.notes)
}

export interface NoServer {
  readonly config: Config
  /** Why the work is done on the data folder. */
  readonly unheard: string
}

/**
 * The server that answers: at the given address, or that of the configuration, which has to show that it works on its data
 * folder. `mayBeOpen`: also one with IAM off.
 * @throws Misuse, Refusal, NoAnswer
 */
export async function findServer(
  { url, reading, credentials }: Omit<Wanted, 'notes'>,
  mayBeOpen: boolean,
): Promise<Connection | NoServer> {
  if (url !== undefined) {
    const base = baseOf(url)
    const connection = await meet(base, credentials, mayBeOpen)
    if (!connection) throw new Refusal(`nothing answers at ${base}`)
    return connection
  }
  const config = configOf(reading)
  const base = addressOf(config)
  if (base === undefined) return { config, unheard: 'PORT is 0, so a running server was not looked for' }
  const connection = await meet(base, credentials, mayBeOpen, () => whyNotOurs(base, config))
  return connection ?? { config, unheard: `nothing answers at ${base}` }
}

/** @throws Misuse for settings that the server would not take */
export function configOf(reading: ConfigReading): Config {
  if ('mistakes' in reading) throw new Misuse(reading.mistakes.join('\n'))
  return reading.config
}

/** With the base path, whether it was given or not. */
function baseOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed || !['http:', 'https:'].includes(parsed.protocol) || parsed.search || parsed.hash) {
    throw new Misuse(`--url: got '${url}', takes an address such as http://127.0.0.1:8080`)
  }
  if (parsed.username || parsed.password) throw new Misuse('--url takes no password: set ADMIN_NAME and ADMIN_PASSWORD')
  const address = parsed.href.replace(/\/+$/, '')
  return address.endsWith(basePath) ? address : address + basePath
}

/** Where a server with this configuration listens, from this machine; undefined when it takes any port. */
export function addressOf({ host, port }: Config): string | undefined {
  if (port === 0) return undefined
  const near = nearOf(host)
  return `http://${near.includes(':') ? `[${near}]` : near}:${port}${basePath}`
}
