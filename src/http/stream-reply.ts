import type { Reply } from '#http/call'
import { ChunkOutput } from '#http/chunk-output'
import type { Exchange } from '#http/exchange'
import { endBodiless, headersOf, isBodiless, writeHead } from '#http/write-reply'

/**
 * Writes an answer that comes in chunks.
 *
 * Obligations: nothing is sent before the first chunk is there, so that what fails until then is still answered
 * properly; the next chunk is asked for when the one before has been taken; the iterator is returned when the other side
 * goes away; a failure after the first chunk breaks the connection off, so that nobody takes the part for the whole.
 */
export function streamReply(exchange: Exchange, reply: Reply, chunks: AsyncIterable<string | Uint8Array>): void {
  const iterator = chunks[Symbol.asyncIterator]()
  let isReturned = false
  const giveBack = async () => {
    if (isReturned) return
    isReturned = true
    // A generator takes it after the chunk it is at.
    await iterator.return?.()
  }
  const giveBackLoudly = () => void giveBack().catch((error: unknown) => exchange.fail(error))
  exchange.whenGone(giveBackLoudly)

  stream(exchange, reply, iterator)
    .catch((error: unknown) => exchange.fail(error))
    .then(giveBackLoudly, giveBackLoudly)
}

async function stream(exchange: Exchange, reply: Reply, iterator: AsyncIterator<string | Uint8Array>): Promise<void> {
  let next = await iterator.next()
  // An answer without a body ends with its head; and what the parser holds of other answers leaves no room for ours.
  await exchange.outsideParser()
  // The deadline may have answered in between.
  if (!exchange.isOpen) return

  const lengthBytes = contentLength(reply)
  const headers = headersOf(exchange, reply, !isBodiless(reply.status))
  const output = new ChunkOutput(exchange, lengthBytes)
  exchange.write((response) => {
    exchange.begin(reply.status)
    writeHead(response, reply.status, headers)
    if (exchange.method === 'HEAD' || isBodiless(reply.status)) {
      if (lengthBytes !== undefined) response.writeHeader('Content-Length', String(lengthBytes))
      endBodiless(exchange, response, false)
      exchange.finish(0)
      return
    }
    if (exchange.context.isStopping) response.writeHeader('Connection', 'close')
    output.start(response)
  })
  while (!next.done && !exchange.isGone) {
    await output.send(typeof next.value === 'string' ? Buffer.from(next.value) : next.value)
    if (exchange.isGone) return
    next = await iterator.next()
  }
  await output.end()
}

function contentLength(reply: Reply): number | undefined {
  for (const [name, value] of Object.entries(reply.headers ?? {})) {
    if (name.toLowerCase() === 'content-length') return Number(value)
  }
  return undefined
}
