import type { Reply } from '#http/call'
import { ChunkOutput } from '#http/chunk-output'
import type { Exchange } from '#http/exchange'
import { endBodiless, headersOf, isBodiless, writeHead } from '#http/write-reply'

/**
 * Writes an answer that is made in chunks.
 *
 * Obligations: no byte is sent before the first chunk is available, so that an error until then gets a proper answer;
 * the next chunk is requested when the client has taken the one before; the iterator is returned when the client
 * disconnects; an error after the first chunk closes the connection, so that no client takes the part for the whole.
 */
export function streamReply(exchange: Exchange, reply: Reply, chunks: AsyncIterable<string | Uint8Array>): void {
  const iterator = chunks[Symbol.asyncIterator]()
  let isReturned = false
  const returnIterator = async () => {
    if (isReturned) return
    isReturned = true
    // A generator handles it after its present chunk.
    await iterator.return?.()
  }
  const returnAndLog = () => void returnIterator().catch((error: unknown) => exchange.fail(error))
  exchange.whenGone(returnAndLog)

  stream(exchange, reply, iterator)
    .catch((error: unknown) => exchange.fail(error))
    .then(returnAndLog, returnAndLog)
}

async function stream(exchange: Exchange, reply: Reply, iterator: AsyncIterator<string | Uint8Array>): Promise<void> {
  let next = await iterator.next()
  // An answer without a body ends with its head; and buffered bytes of other answers leave no space for this one.
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
