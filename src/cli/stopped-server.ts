import type { Writable } from 'node:stream'
import type { Config } from '#app/config'
import { createLog } from '#app/log'
import { isPlainFailure, type RunningServer, serve } from '#app/running-server'
import { realWorld } from '#app/world'
import { type Connection, connectionTo } from '#cli/connection'
import { Refusal } from '#cli/exit-codes'
import type { NoServer } from '#cli/server-lookup'

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
