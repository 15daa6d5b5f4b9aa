import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { imagePath } from '#api/cluster'
import { nodeKeyHeader } from '#cluster/node'

/** After this time without a byte the other node is treated as stopped. */
const silenceMsMax = 30_000

/**
 * Requests the image of another node. The bytes are only complete if they end with the end mark of a backup.
 * @throws Error
 */
export async function* requestImage(node: URL, key: string): AsyncGenerator<Uint8Array> {
  const ask = node.protocol === 'https:' ? httpsRequest : httpRequest
  const options = { headers: { [nodeKeyHeader]: key }, agent: false, timeout: silenceMsMax }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = ask(new URL(imagePath, node), options, resolve)
    outgoing.on('error', reject)
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no data for ${silenceMsMax / 1000} s`)))
    outgoing.end()
  })
  try {
    if (answer.statusCode !== 200) throw new Error(`${node.host} answered ${answer.statusCode}`)
    yield* answer as AsyncIterable<Uint8Array>
  } finally {
    answer.destroy()
  }
}
