import { challengeBytes, challengeHeader, proofHeader, readHealth } from '#api/health'
import type { Config } from '#app/config'
import { realWorld } from '#app/world'
import { exchange } from '#cli/exchange'
import { proofOf, readServerFile, type ServerFile } from '#store/server-file'

/** As for any look at a server. */
const withinMs = 10_000

/**
 * Why what answers at `base`, where this configuration's server should, can't be taken for the one on its data folder;
 * undefined when it has shown that it is. While ours is away another user of this machine can have its port, and would be
 * told the password or key of an administrator.
 *
 * @throws NoAnswer
 */
export async function whyNotOurs(base: string, config: Config): Promise<string | undefined> {
  const { dataDirectory } = config
  const file = await readServerFile(dataDirectory)
  if (!file) return `${dataDirectory} names no server that runs on it, or may not be read by this user`
  if (!listensWhere(file, config)) return `the server on ${dataDirectory} listens at ${file.host}:${file.port}`
  const challenge = Buffer.from(realWorld.random(challengeBytes)).toString('base64url')
  const { headers } = await exchange(base + readHealth.path, withinMs, { [challengeHeader]: challenge })
  // Plain comparison will do: each challenge is sent once, so its time gives nothing away.
  return headers.get(proofHeader) === proofOf(file.key, challenge)
    ? undefined
    : `it did not show that it runs on ${dataDirectory}`
}

/** Whether only the server of the file can listen at the address. Another process there could pass the challenge on to it. */
function listensWhere(file: ServerFile, config: Config): boolean {
  const asked = nearOf(config.host)
  const isIpv4 = /^[\d.]+$/.test(asked)
  const hosts = [asked, ...(isIpv4 ? ['0.0.0.0'] : []), ...(isIpv4 || asked.includes(':') ? ['::'] : [])]
  return file.port === config.port && hosts.includes(file.host)
}

/** The address, from this machine, of a server that listens at `host`. */
export function nearOf(host: string): string {
  return { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host
}
