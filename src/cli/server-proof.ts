import { challengeBytes, challengeHeader, proofHeader, readHealth } from '#api/health'
import type { Config } from '#app/config'
import { realWorld } from '#app/world'
import { requestPage } from '#cli/exchange'
import { proofOf, readServerFile, type ServerFile } from '#store/server-file'

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
export function localHostOf(host: string): string {
  return { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host
}
