import { createServer } from 'node:net'
import { readHealth, readHealthStatus } from '#api/health'
import type { Config } from '#app/config'
import { addressOf } from '#cli/connecting'
import { type Finding, hint, ok, wrong } from '#cli/doctor/finding'
import { exchange, NoAnswer } from '#cli/exchange'
import { whyNotOurs } from '#cli/proven-server'

const withinMs = 5_000

/** Whether the port can be had, or one of ours has it, and how that one is. `apiKey`: to be told more by it. */
export async function portFindings(config: Config, apiKey: string | undefined): Promise<readonly Finding[]> {
  const { host, port } = config
  const base = addressOf(config)
  if (base === undefined) return [ok('port', 'PORT is 0: any free one will do, so a running server was not looked for')]
  try {
    const { status, text } = await exchange(base + readHealth.path, withinMs)
    if (status === 200 && text === '{"status":"ok"}') {
      const doubt = await whyNotOurs(base, config)
      if (doubt !== undefined) return [doubtFinding(base, doubt)]
      return [ok('server', `answers at ${base}`), ...(await statusFindings(base, apiKey))]
    }
    return [wrong('port', `something else answers at ${base} (${status})`, 'another PORT, or end what has it')]
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error
    if (!error.isRefused)
      return [wrong('port', `${base}: ${error.message}`, 'look at what has the port, and at its log')]
  }
  return [await bindFinding(host, port)]
}

/** It is shown no key. */
function doubtFinding(base: string, doubt: string): Finding {
  const todo =
    'as the user and with the settings of the server, doctor can tell; if it is not the server, end what has the port'
  return wrong('server', `what answers at ${base} may be somebody else's: ${doubt}`, todo)
}

/** What it may still be, although it answers. */
async function statusFindings(base: string, apiKey: string | undefined): Promise<readonly Finding[]> {
  const headers: Record<string, string> = apiKey === undefined ? {} : { 'x-api-key': apiKey }
  try {
    const { status, text } = await exchange(base + readHealthStatus.path, withinMs, headers)
    if (status === 401 && apiKey === undefined) return [ok('server', 'says more to who sets ADMIN_API_KEY')]
    if (status !== 200)
      return [hint('server', `does not say how it is (${status})`, 'a key that may read health in ADMIN_API_KEY')]
    const { database, links, sockets, devices } = JSON.parse(text) as {
      readonly database: { readonly status: string }
      readonly links: number
      readonly sockets: number
      readonly devices: number
    }
    if (database.status !== 'ok') {
      return [
        wrong('server', `its database is ${database.status}`, 'see disk; when the disk failed, mend it and start anew'),
      ]
    }
    return [ok('server', `${devices} devices, ${links} links, ${sockets} sockets`)]
  } catch (error) {
    return [
      hint('server', `does not say how it is: ${error instanceof Error ? error.message : error}`, 'look at its log'),
    ]
  }
}

const advice: Readonly<Record<string, readonly [said: string, todo: string]>> = {
  EADDRINUSE: ['something that does not speak HTTP has it', 'another PORT, or end what has it'],
  EACCES: ['may not be had by this user', 'a PORT above 1023 with a proxy in front, or CAP_NET_BIND_SERVICE'],
  EADDRNOTAVAIL: ['HOST is no address of this machine', 'HOST=127.0.0.1, or 0.0.0.0 for all'],
  ENOTFOUND: ['HOST is no name that leads anywhere', 'HOST=127.0.0.1, or 0.0.0.0 for all'],
}

function bindFinding(host: string, port: number): Promise<Finding> {
  const about = 'port'
  return new Promise((found) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => {
      const [said, todo] = advice[error.code ?? ''] ?? [error.message, 'another HOST or PORT']
      found(wrong(about, `${host}:${port}: ${said}`, todo))
    })
    server.listen({ host, port, exclusive: true }, () => {
      server.close(() => found(ok(about, `${host}:${port} is free`)))
    })
  })
}
