import type { Writable } from 'node:stream'
import type { Config } from '#app/config'
import { createLog } from '#app/log'
import { isPlainFailure, type Running, serve } from '#app/serve'
import { realWorld } from '#app/world'
import type { NoServer } from '#cli/connecting'
import { type Connection, connectionTo } from '#cli/connection'
import { Refusal } from '#cli/ending'

/** 256 bit. */
const tokenBytes = 32

/**
 * A server on the data folder, in this process: on loopback, on a random port, and with a token that only this process
 * has and that ends with it. A user who may write the folder may do everything anyway.
 *
 * @throws Refusal when the folder is in use or can't be opened
 */
export async function startForOneself({ config, unheard }: NoServer, notes: Writable): Promise<Connection> {
  notes.write(`${unheard}: working on the data folder ${config.dataDirectory} of the stopped server\n`)
  const token = Buffer.from(realWorld.random(tokenBytes)).toString('base64url')
  const running = await started(config, token, notes)
  return { ...connectionTo(running.url, { token }), close: () => running.stop() }
}

async function started(config: Config, operatorToken: string, notes: Writable): Promise<Running> {
  // Standard output belongs to what was asked for.
  const log = createLog({ level: 'warn', isPretty: true, stream: notes })
  const ours = { ...config, host: '127.0.0.1', port: 0, isProxyTrusted: false }
  try {
    return await serve(ours, log, { operatorToken })
  } catch (error) {
    if (!isPlainFailure(error)) throw error
    throw new Refusal(`${error.message}\nIf a server runs elsewhere, say where with --url.`)
  }
}
