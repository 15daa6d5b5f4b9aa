import { Resolver, lookup as systemLookup } from 'node:dns/promises'
import { request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { WebhookAnswer, WebhookFault } from '#model/webhook'
import { hostOf, WebhookAddresses } from '#notifications/webhook-addresses'
import type { World } from '#runtime/world'

export interface WebhookPost {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON. */
  readonly body: string
}

/** Sends webhooks to their receivers. */
export interface WebhookSender {
  /** Why a function must not name this URL: a text that begins with "must". Undefined if the URL is allowed. */
  faultOf(url: string): string | undefined
  /** Resolves within 15 s, and never rejects. */
  post(post: WebhookPost): Promise<WebhookAnswer>
  /** Ends attempts in progress. */
  close(): void
}

interface Resolved {
  readonly address: string
  readonly family: number
}

export interface HttpWebhookSenderOptions {
  readonly world: World
  /** `WEBHOOK_ALLOW`. */
  readonly allowed?: readonly string[]
  /** Replaces the lookup of a host's addresses, for tests. */
  readonly resolve?: (host: string) => Promise<readonly Resolved[]>
}

/** The limit of time for one attempt, from resolving the host to the end of the answer. Contract 12. */
const attemptMs = 15_000
/** An answer is read up to this size: only its status matters. */
const answerBytesMax = 64 * 1024
/** The largest number of informational answers (1xx) before the final answer. */
const informationalMax = 10

/**
 * Sends webhooks over HTTP. Each attempt resolves the host once and connects only to addresses that it checked, so a
 * name that is resolved differently afterwards (DNS rebinding) cannot reach another address. Redirects are not
 * followed.
 */
export function httpWebhookSender({ world, allowed, resolve }: HttpWebhookSenderOptions): WebhookSender {
  const addresses = new WebhookAddresses(allowed)
  const inProgress = new Set<AbortController>()

  /**
   * Only hosts in `WEBHOOK_ALLOW` use the resolver of the operating system: a lookup that hangs blocks a thread of the
   * pool that LevelDB also uses.
   */
  async function addressesOf(host: string): Promise<readonly Resolved[]> {
    if (resolve) return resolve(host)
    if (addresses.isNamed(host)) return systemLookup(host, { all: true })
    if (/^(.+\.)?localhost$/.test(host)) return loopback
    // A new resolver each time, because a resolver reads the system's list of name servers only once.
    const resolver = new Resolver({ timeout: 3_000, tries: 2 })
    const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    if (four.status === 'rejected' && six.status === 'rejected') throw four.reason
    const found = (result: typeof four, family: number): Resolved[] =>
      result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : []
    return [...found(four, 4), ...found(six, 6)]
  }

  async function checkedAddressesOf(protocol: string, host: string): Promise<readonly Resolved[]> {
    const family = isIP(host)
    const all = family > 0 ? [{ address: host, family }] : await addressesOf(host).catch(() => fail('dns'))
    const checked = all.filter(({ address }) => addresses.mayConnect(protocol, host, address))
    return checked.length > 0 ? checked : fail('address')
  }

  async function attempt({ url, headers, body }: WebhookPost, signal: AbortSignal): Promise<number> {
    const { protocol, hostname } = new URL(url)
    const checked = await until(signal, checkedAddressesOf(protocol, hostOf(hostname)))
    const options: RequestOptions = {
      method: 'POST',
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      lookup: lookupOf(checked),
      // Each attempt has its own connection, so an address that was checked earlier is not used again.
      agent: false,
      signal,
    }
    return new Promise((done, failed) => {
      let status: number | undefined
      let failure: unknown
      let informationalCount = 0
      const request = (protocol === 'https:' ? httpsRequest : httpRequest)(url, options, (response) => {
        if (informationalCount <= informationalMax) status = response.statusCode
        let bytes = 0
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes > answerBytesMax) response.destroy()
        })
        // Once the status is known, it does not matter how the answer ends.
        response.on('error', () => {})
      })
      request.on('information', () => {
        if (++informationalCount > informationalMax) request.destroy()
      })
      request.on('error', (error) => {
        failure = error
      })
      request.on('close', () => (status === undefined ? failed(failure) : done(status)))
      request.end(body)
    })
  }

  return {
    faultOf: (url) => addresses.faultOf(url),
    async post(post): Promise<WebhookAnswer> {
      const controller = new AbortController()
      inProgress.add(controller)
      const cancel = world.after(attemptMs, () => controller.abort())
      try {
        return await attempt(post, controller.signal)
      } catch (error) {
        return controller.signal.aborted ? 'timeout' : faultOfError(error)
      } finally {
        cancel()
        inProgress.delete(controller)
      }
    },
    close() {
      for (const controller of inProgress) controller.abort()
    },
  }
}

const loopback: readonly Resolved[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

function lookupOf(checked: readonly Resolved[]): LookupFunction {
  return (_, { all }, callback) => {
    const [first] = checked as [Resolved]
    if (all) callback(null, checked as Resolved[])
    else callback(null, first.address, first.family)
  }
}

/** Waits for the promise. Rejects if the signal is aborted first. */
function until<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    promise.then(resolve, reject)
  })
}

class AttemptFailed extends Error {
  readonly fault: WebhookFault

  constructor(fault: WebhookFault) {
    super(fault)
    this.fault = fault
  }
}

function fail(fault: WebhookFault): never {
  throw new AttemptFailed(fault)
}

/** Codes of OpenSSL and of Node's check of the certificate. */
const tlsCode = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_|ALTNAME|EPROTO/

function faultOfError(error: unknown): WebhookFault {
  if (error instanceof AttemptFailed) return error.fault
  // A connection may also end without an error.
  return tlsCode.test((error as { readonly code?: string } | undefined)?.code ?? '') ? 'tls' : 'connection'
}
