import { createServer } from 'node:net'
import { readHealth, readHealthStatus } from '#api/health'
import type { Config } from '#app/config'
import { type Finding, hint, ok, wrong } from '#cli/doctor/finding'
import { messageOf } from '#cli/doctor/folder'
import { NoAnswer, requestPage } from '#cli/exchange'
import { addressOf, missingProofOf } from '#cli/server-lookup'

const timeoutMs = 5_000

/** Checks that the port is free, or that the configured server uses it and is healthy. `apiKey` gives more details. */
export async function portFindings(config: Config, apiKey: string | undefined): Promise<readonly Finding[]> {
  const { host, port } = config
  const base = addressOf(config)
  if (base === undefined)
    return [ok('port', 'PORT is 0: the server uses any free port, so a running one cannot be found')]
  try {
    const { status, text } = await requestPage(base + readHealth.path, timeoutMs)
    if (status === 200 && text === '{"status":"ok"}') {
      const doubt = await missingProofOf(base, config)
      if (doubt === undefined) return [ok('server', `answers at ${base}`), await statusFinding(base, apiKey)]
      // A server that has not proved which data folder it uses gets no API key.
      const todo =
        'run doctor as the user and with the settings of the server; if another program has the port, stop it'
      return [wrong('server', `the server at ${base} may be another one: ${doubt}`, todo)]
    }
    return [wrong('port', `another program answers at ${base} (${status})`, 'set another PORT, or stop that program')]
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error
    if (!error.isRefused)
      return [wrong('port', `${base}: ${error.message}`, 'check the program at this port and its log')]
  }
  return [await bindFinding(host, port)]
}

/** Checks the details of a server that answers. */
async function statusFinding(base: string, apiKey: string | undefined): Promise<Finding> {
  const headers: Record<string, string> = apiKey === undefined ? {} : { 'x-api-key': apiKey }
  try {
    const { status, text } = await requestPage(base + readHealthStatus.path, timeoutMs, headers)
    if (status === 401 && apiKey === undefined) return ok('server', 'for more details, set ADMIN_API_KEY')
    if (status !== 200) {
      const todo = 'set ADMIN_API_KEY to a key that may read health'
      return hint('server', `refuses a request for its health (${status})`, todo)
    }
    const { database, links, sockets, devices } = JSON.parse(text) as {
      readonly database: { readonly status: string }
      readonly links: number
      readonly sockets: number
      readonly devices: number
    }
    if (database.status !== 'ok') {
      const todo = 'see disk; if the disk failed, repair it and restart the server'
      return wrong('server', `its database is ${database.status}`, todo)
    }
    return ok('server', `${devices} devices, ${links} device connections, ${sockets} sockets`)
  } catch (error) {
    return hint('server', `did not report its health: ${messageOf(error)}`, 'check its log')
  }
}

const advice: Readonly<Record<string, readonly [said: string, todo: string]>> = {
  EADDRINUSE: ['another program that does not speak HTTP uses it', 'set another PORT, or stop that program'],
  EACCES: ['this user may not listen there', 'set a PORT above 1023 behind a proxy, or grant CAP_NET_BIND_SERVICE'],
  EADDRNOTAVAIL: ['HOST is no address of this machine', 'set HOST=127.0.0.1, or 0.0.0.0 for all addresses'],
  ENOTFOUND: ['HOST is not a known name', 'set HOST=127.0.0.1, or 0.0.0.0 for all addresses'],
}

function bindFinding(host: string, port: number): Promise<Finding> {
  const about = 'port'
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => {
      const [said, todo] = advice[error.code ?? ''] ?? [error.message, 'set another HOST or PORT']
      resolve(wrong(about, `${host}:${port}: ${said}`, todo))
    })
    server.listen({ host, port, exclusive: true }, () => {
      server.close(() => resolve(ok(about, `${host}:${port} is free`)))
    })
  })
}
