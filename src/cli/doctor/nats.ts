import { hostname } from 'node:os'
import type { Config } from '#app/config'
import { type Finding, ok, wrong } from '#cli/doctor/finding'
import { ClusterFailure } from '#cluster/cluster-failure'

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
