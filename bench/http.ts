import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'

export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface HttpOptions {
  readonly method?: string
  /** JSON text, or bytes with a content type header. */
  readonly body?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /** The request fails after this time without a byte. */
  readonly silenceMsMax?: number
}

/**
 * One request on its own connection; resolves with the whole answer as text. A kept-alive connection to a server that
 * was just killed would fail, and look like a failure of the next server.
 */
export function request(url: string, question: HttpOptions = {}): Promise<HttpAnswer> {
  const { method = 'GET', body, headers = {}, silenceMsMax = 30_000 } = question
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      url,
      {
        method,
        agent: false,
        timeout: silenceMsMax,
        headers: { ...(typeof body === 'string' && { 'content-type': 'application/json' }), ...headers },
      },
      (incoming) => {
        const parts: Buffer[] = []
        incoming.on('data', (part: Buffer) => parts.push(part))
        incoming.on('error', reject)
        incoming.on('aborted', () => reject(new Error(`${method} ${url}: the answer broke off`)))
        incoming.on('end', () =>
          resolve({
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            text: Buffer.concat(parts).toString('utf8'),
          }),
        )
      },
    )
    outgoing.on('timeout', () => outgoing.destroy(new Error(`${method} ${url}: silent for ${silenceMsMax} ms`)))
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
