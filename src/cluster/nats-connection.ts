import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import {
  type Authenticator,
  AuthorizationError,
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  type NatsConnection,
  NoRespondersError,
  usernamePasswordAuthenticator,
} from '@nats-io/transport-node'
import { ClusterFailure } from '#cluster/cluster-failure'

/** The servers and the credentials for them. */
export interface NatsServers {
  /** As `NATS_URL` names them. Contract 11. */
  readonly servers: readonly string[]
  /** Names this node in the logs of the servers. */
  readonly node: { readonly name: string }
}

/** Earlier servers let two nodes win the same comparison of the last sequence (2.9.10: in 182 of 300 races). */
const versionMin = [2, 11] as const

/** How long to wait for the answers of all servers. */
const answersMs = 2_000

/**
 * Connects to one of the servers; waits until one answers. `file`: credentials in the format of NATS, or one line
 * `user:password`. Without a file, the credentials of the first URL that has some are used at all servers.
 * @throws ClusterFailure
 */
export async function connectToNats(
  settings: NatsServers,
  file: string | undefined,
  options: ConnectionOptions = { waitOnFirstConnect: true, maxReconnectAttempts: -1 },
): Promise<NatsConnection> {
  const urls = settings.servers.map((server) => new URL(server))
  const authenticator = file === undefined ? urlAuthenticator(urls) : await fileAuthenticator(file)
  try {
    return await connect({
      servers: urls.map(({ host }) => host),
      name: `device-data-backend ${settings.node.name} on ${hostname()}`,
      reconnectTimeWait: 250,
      ...(authenticator && { authenticator }),
      // Without `tls`, the client uses TLS only where a server offers it.
      ...(urls.some(({ protocol }) => protocol === 'tls:') && { tls: {} }),
      ...options,
    })
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    const isRefused = error instanceof AuthorizationError
    const what = isRefused ? `NATS refuses the credentials of ${file ?? 'NATS_URL'}` : "NATS can't be reached"
    throw new ClusterFailure(`${what}: ${text}`, { cause: error })
  }
}

/** @throws ClusterFailure for a server that is too old */
export function checkVersion(connection: NatsConnection): void {
  const version = connection.info?.version ?? '0'
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > versionMin[0] || (major === versionMin[0] && minor >= versionMin[1])) return
  const needed = versionMin.join('.')
  throw new ClusterFailure(`the NATS server at ${connection.getServer()} is ${version}; ${needed} or later is needed`)
}

/**
 * `connection`: of a system account.
 * @throws ClusterFailure if a server acknowledges messages that are not on disk, or if no server answers
 */
export async function checkSync(connection: NatsConnection): Promise<void> {
  let count = 0
  try {
    const answers = await connection.requestMany('$SYS.REQ.SERVER.PING.JSZ', '{}', { maxWait: answersMs })
    for await (const answer of answers) {
      const { server, data } = answer.json<{
        server: { name: string }
        data?: { config?: { sync_always?: boolean } }
      }>()
      if (!data?.config) continue
      count++
      if (data.config.sync_always) continue
      throw new ClusterFailure(
        `the NATS server ${server.name} has no "sync_interval: always" in its jetstream block; DURABILITY=disk needs it`,
      )
    }
  } catch (error) {
    if (!(error instanceof NoRespondersError)) throw error
  }
  if (count === 0) throw new ClusterFailure('NATS_SYS_CREDS is not of a system account: no server answers it')
}

function urlAuthenticator(urls: readonly URL[]): Authenticator | undefined {
  const url = urls.find(({ username }) => username !== '')
  return url && usernamePasswordAuthenticator(decodeURIComponent(url.username), decodeURIComponent(url.password))
}

async function fileAuthenticator(file: string): Promise<Authenticator> {
  let bytes: Buffer
  try {
    bytes = await readFile(file)
  } catch (error) {
    throw new ClusterFailure(`the credentials for NATS can't be read: ${(error as Error).message}`, { cause: error })
  }
  const text = bytes.toString()
  if (text.includes('-----BEGIN NATS USER JWT-----')) return credsAuthenticator(bytes)
  const [, user, password] = /^([^:\s]+):(\S+)\s*$/.exec(text) ?? []
  if (user !== undefined && password !== undefined) return usernamePasswordAuthenticator(user, password)
  throw new ClusterFailure(`${file} contains neither credentials of NATS nor one line user:password`)
}
