import type { Platform } from '#client/platform'
import type { RouteName } from '#client/routes'
import type { RawAnswer, Request } from '#client/transport'

/** What makes another thing each time it is asked for: nothing in it has to differ from what is there. */
const makes: ReadonlySet<string> = new Set<RouteName>([
  'POST /alarms',
  'POST /functions',
  'POST /groups',
  'POST /notifications/subscribe',
])

/** Whoever presses again does it within this time; later he may mean another one. */
const rememberedMs = 600_000
const rememberedMax = 100

/**
 * Sends with an `Idempotency-Key` what makes something. Where the answer was lost, or was "not now", nobody knows whether
 * it was made: the same request, asked for again, goes under the same key, so that it is made once. Contract 1.10
 */
export class Once {
  readonly #platform: Platform
  readonly #exchange: (request: Request) => Promise<RawAnswer>
  /** Of requests whose end nobody heard: the key, by what was asked for. The oldest first. */
  readonly #open = new Map<string, { readonly key: string; readonly at: number }>()

  constructor(platform: Platform, exchange: (request: Request) => Promise<RawAnswer>) {
    this.#platform = platform
    this.#exchange = exchange
  }

  async send(request: Request): Promise<RawAnswer> {
    const { method, path, headers, body } = request
    if (!makes.has(`${method} ${path}`) || new Headers(headers).has('idempotency-key')) return this.#exchange(request)
    const asked = `${path} ${JSON.stringify(body)}`
    const { key, at } = this.#known(asked) ?? { key: this.#platform.uniqueId(), at: this.#platform.now() }
    try {
      const answer = await this.#exchange({ ...request, headers: { ...headers, 'idempotency-key': key } })
      if (isFinal(answer)) this.#open.delete(asked)
      else this.#remember(asked, key, at)
      return answer
    } catch (error) {
      this.#remember(asked, key, at)
      throw error
    }
  }

  #known(asked: string) {
    const known = this.#open.get(asked)
    return known && this.#platform.now() - known.at < rememberedMs ? known : undefined
  }

  #remember(asked: string, key: string, at: number): void {
    this.#open.delete(asked)
    this.#open.set(asked, { key, at })
    for (const [oldest] of this.#open) if (this.#open.size > rememberedMax) this.#open.delete(oldest)
  }
}

/** Whether it was done, or never will be: the rest says "not you" or "not now". */
function isFinal({ status, body }: RawAnswer): boolean {
  if (status === 409) return !/still running/.test(String((body as { readonly error?: unknown } | undefined)?.error))
  return status < 300 || status === 400 || status === 404 || status === 422
}
