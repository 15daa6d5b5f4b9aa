import type { Writable } from 'node:stream'
import { ApiClient } from '#cli/api-client'
import type { Connection } from '#cli/connection'
import { Refusal } from '#cli/ending'
import { unheardAt } from '#cli/unheard'
import type { Config } from '#src/config'
import { createLog } from '#src/log'
import { isPlainFailure, type Running, serve } from '#src/serve'
import { realWorld } from '#src/world'

/** 256 bit. */
const tokenBytes = 32

/**
 * A server on the data folder, in this process: on loopback, on a port that nobody knows, and with a token that only
 * this process has and that ends with it. Whoever may write the folder may do everything anyway.
 *
 * @param base where a server was looked for in vain; undefined when its port is not known
 * @throws Refusal when the folder is in use or can't be opened, or when IAM is off
 */
export async function startForOneself(config: Config, base: string | undefined, notes: Writable): Promise<Connection> {
  const unheard = unheardAt(base)
  if (!config.isIamOn) {
    throw new Refusal(`IAM is off, so there is nothing to administer: set IAM=on (${unheard})`)
  }
  notes.write(`${unheard}: working on the data folder ${config.dataDirectory} of the stopped server\n`)
  const operatorToken = Buffer.from(realWorld.random(tokenBytes)).toString('base64url')
  const running = await started(config, operatorToken, notes)
  const client = new ApiClient(running.url, { authorization: `Bearer ${operatorToken}` })
  return { client, close: () => running.stop() }
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
