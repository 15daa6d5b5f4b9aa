import type { HttpResponse } from 'uWebSockets.js'
import { STATUS_CODES } from 'node:http'
import type { Reply } from '#http/call'
import { exposedHeaders } from '#http/cors'
import type { Exchange } from '#http/exchange'

/**
 * A body up to this size is written at once; a larger one piece by piece as the client takes it, so that no byte is
 * buffered twice, or lost: with its head it has to fit into uWebSockets.js's cork of 16 KiB (see `ChunkOutput`).
 */
const wholeBytesMax = 8 * 1024
/** Of one UTF-16 unit. */
const utf8BytesMax = 3

/** Writes an answer whose whole body is known. `isCutting`: no more data of the connection may be read. */
export function writeReply(exchange: Exchange, reply: Reply, isCutting: boolean): void {
  // All code that can throw runs before the first byte.
  const body = bodyOf(reply)
  const hasNoBody = isBodiless(reply.status)
  const headers = headersOf(exchange, reply, body !== '' && !hasNoBody)

  exchange.write((response) => {
    exchange.begin(reply.status)
    writeHead(response, reply.status, headers)
    if (hasNoBody || exchange.method === 'HEAD') {
      // As the parameter of endWithoutBody, the parser would wait for that many bytes and never read the next request.
      if (!hasNoBody && !isCutting) response.writeHeader('Content-Length', String(Buffer.byteLength(body)))
      endBodiless(exchange, response, isCutting)
      exchange.finish(0)
    } else if (isLong(body) && !isCutting) {
      // Only an answer written in one piece can close the connection after it.
      if (exchange.context.isStopping) response.writeHeader('Connection', 'close')
      writePieces(exchange, response, Buffer.from(body))
    } else {
      response.end(body, isCutting || exchange.context.isStopping)
      exchange.finish(body)
    }
  })
}

/** Ends after the headers. The parser only closes the connection after them if it is given a length of 0. */
export function endBodiless(exchange: Exchange, response: HttpResponse, isCutting: boolean): void {
  if (isCutting) response.endWithoutBody(0, true)
  else {
    if (exchange.context.isStopping) response.writeHeader('Connection', 'close')
    response.endWithoutBody()
  }
}

/** Informational, No Content and Not Modified end with their headers. RFC 9110 §6.4.1. */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304 || status < 200
}

export function writeHead(response: HttpResponse, status: number, headers: readonly string[]): void {
  response.writeStatus(statusLines.get(status) ?? statusLine(status))
  for (let index = 0; index < headers.length; index += 2) {
    response.writeHeader(headers[index] ?? '', headers[index + 1] ?? '')
  }
}

/** Names and values, alternating. The parser adds `Date` and the framing. */
export function headersOf(exchange: Exchange, reply: Reply, hasBody: boolean): string[] {
  const lines = ['X-Request-Id', exchange.requestId, 'X-Content-Type-Options', 'nosniff', 'Vary', 'Origin']
  let hasType = !hasBody
  let hasCacheControl = false
  const own = reply.headers
  for (const name in own) {
    const value = own[name] ?? ''
    refuseUnsafe(name, value)
    const lower = name.toLowerCase()
    if (lower === 'content-type') hasType = true
    else if (lower === 'cache-control') hasCacheControl = true
    else if (lower === 'content-length') continue
    lines.push(name, value)
  }
  if (!hasType) lines.push('Content-Type', 'application/json; charset=utf-8')
  if (!hasCacheControl) lines.push('Cache-Control', 'private, no-cache')
  if (exchange.origin === 'allowed') {
    lines.push('Access-Control-Allow-Origin', exchange.header('origin'))
    lines.push('Access-Control-Expose-Headers', exposedHeaders)
  }
  lines.push(...exchange.extraHeaders)
  return lines
}

const statusLines = new Map(Object.keys(STATUS_CODES).map((status) => [Number(status), statusLine(Number(status))]))

function statusLine(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? 'Unknown'}`
}

/** The whole body of an answer; empty for none. Throws if the value is not JSON. */
export function bodyOf(reply: Reply): string {
  if (reply.text !== undefined) return reply.text
  if (reply.json === undefined) return ''
  const text: string | undefined = JSON.stringify(reply.json)
  if (text === undefined) throw new Error(`a ${typeof reply.json} cannot be answered as JSON`)
  return text
}

/** A line break in a header's value would let the author of the value write headers, or a second answer. */
export function refuseUnsafe(name: string, value: string): void {
  if (/[\r\n\0]/.test(name) || /[\r\n\0]/.test(value)) {
    throw new Error(`the reply's header ${JSON.stringify(name)} has a line break`)
  }
}

function isLong(body: string): boolean {
  return body.length > wholeBytesMax / utf8BytesMax && Buffer.byteLength(body) > wholeBytesMax
}

function writePieces(exchange: Exchange, response: HttpResponse, body: Buffer): void {
  const offer = (offset: number) => {
    const [isTaken, isDone] = response.tryEnd(body.subarray(offset), body.byteLength)
    if (isDone) exchange.finish(body.byteLength)
    return isTaken
  }
  // Before the first call: the response is invalid once all bytes were taken.
  response.onWritable(offer)
  offer(0)
}
