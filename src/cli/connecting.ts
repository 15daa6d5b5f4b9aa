import type { Writable } from 'node:stream'
import type { Connection } from '#cli/connection'
import { Misuse, Refusal } from '#cli/ending'
import { nearOf } from '#cli/near'
import { whyNotOurs } from '#cli/proven-server'
import { type Credentials, signInAt } from '#cli/running-server'
import type { Config, ConfigReading } from '#src/config'

export interface Wanted {
  /** As given; without one the server of the configuration is meant, running or not. */
  readonly url: string | undefined
  readonly reading: ConfigReading
  readonly credentials: Credentials
  /** What is said beside the work. */
  readonly notes: Writable
}

const basePath = '/api/v1'

/**
 * The server that answers, with somebody signed in; or, where none listens at the configured address, one in this
 * process on the data folder, for us alone. Never that for an address that was given: whoever names a server means no other.
 *
 * @throws Misuse, Refusal
 */
export async function connect(wanted: Wanted): Promise<Connection> {
  const found = await findServer(wanted, false)
  if ('client' in found) return found
  // All of the server comes with it: whoever asks one that runs does not wait for that to load.
  const { startForOneself } = await import('#cli/stopped-server')
  return startForOneself(found.config, found.base, wanted.notes)
}

/** Where none was found: whose folder it would be, and where it was looked for, if its port is known. */
export interface NoServer {
  readonly config: Config
  readonly base: string | undefined
}

/**
 * The server that answers: where it was named, or that of the configuration, which has to show that it works on its data
 * folder. `mayBeOpen`: also one where nobody signs in.
 * @throws Misuse, Refusal
 */
export async function findServer(
  { url, reading, credentials }: Omit<Wanted, 'notes'>,
  mayBeOpen: boolean,
): Promise<Connection | NoServer> {
  if (url !== undefined) {
    const base = baseOf(url)
    const connection = await signInAt(base, credentials, { mayBeOpen })
    if (!connection) throw new Refusal(`nothing answers at ${base}`)
    return connection
  }
  const config = configOf(reading)
  const base = addressOf(config)
  if (base === undefined) return { config, base }
  const connection = await signInAt(base, credentials, { mayBeOpen, doubt: () => whyNotOurs(base, config) })
  return connection ?? { config, base }
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
