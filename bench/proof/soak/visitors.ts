import { Dashboard } from '#bench/dashboard'
import { Fleet } from '#bench/fleet/fleet'
import { administrator, readToken } from '#bench/harness/identity'
import type { LoadedServer } from '#bench/proof/loaded-server'
import { pass, until } from '#bench/time'

/** Devices and subscribers that connect, stay for some seconds, and leave nothing: each device has a new identifier. */

const devicesAtOnce = 3
const subscribersAtOnce = 6
const pauseMs = 500
const onlineMsMax = 20_000
const problemsMax = 5

/** Prefix of the identifiers of these devices. */
export const visitingPrefix = 'PASSING'

export class Visitors {
  readonly #server: LoadedServer
  readonly #isOver: () => boolean
  readonly counts = { devices: 0, subscribers: 0 }
  readonly problems: string[] = []
  #number = 0

  constructor(server: LoadedServer, isOver: () => boolean) {
    this.#server = server
    this.#isOver = isOver
  }

  /** Runs until the soak is over. */
  async run(): Promise<void> {
    const devices = () => this.#repeat('devices', (number) => this.#connectDevice(number))
    const subscribers = () => this.#repeat('subscribers', (number) => this.#subscribe(number))
    await Promise.all([
      ...Array.from({ length: devicesAtOnce }, devices),
      ...Array.from({ length: subscribersAtOnce }, subscribers),
    ])
  }

  async #repeat(name: keyof Visitors['counts'], visit: (number: number) => Promise<void>): Promise<void> {
    while (this.problems.length < problemsMax) {
      await pass(this.#server.random.between(0, 2 * pauseMs))
      if (this.#isOver()) return
      try {
        await visit(++this.#number)
        this.counts[name]++
      } catch (error) {
        this.problems.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  }

  /** Its connection is cut now and then. In the end the device is deleted. */
  async #connectDevice(number: number): Promise<void> {
    const { url, key, random, runner } = this.#server
    const fleet = new Fleet({
      ...{ url: url.replace(/^http/, 'ws'), key, prefix: `${visitingPrefix}-${number}`, devices: 1, links: 1 },
      ...{ rate: 40, changes: 2, seed: number, backoffMsMax: 400 },
      ...(random.next() < 0.5 && { protocol: 'msgpack', form: 'short' }),
    })
    fleet.start()
    try {
      if (!(await fleet.allOnline(onlineMsMax))) throw new Error('a device is not welcome')
      await this.#stay(500, 3_000)
      if (random.next() < 0.3) fleet.cutAll()
      await this.#stay(100, 1_000)
    } finally {
      await fleet.stop(random.next() < 0.7)
    }
    if (fleet.counts.faultCount > 0) throw new Error(fleet.counts.faults.join('; '))
    for (const { identifier } of fleet.devices) await runner.api.must('DELETE', `/devices/${identifier}`)
  }

  /** It stalls, loses its connection and resumes; its session ends before its socket, or after it. */
  async #subscribe(number: number): Promise<void> {
    const { url, random, place, runner } = this.#server
    const authorization = `Bearer ${await readToken(place.port, administrator)}`
    const dashboard = new Dashboard({
      ...{ url, authorization, from: random.next() < 0.3 ? 'state' : 'now', isFolding: false, backoffMsMax: 300 },
      ...(random.next() < 0.7 && { query: { devices: `F${number % 5}-CLIMATE-000000` } }),
    })
    dashboard.start()
    try {
      for (let left = 3 + random.below(6); left > 0; left--) {
        await this.#untilLive(dashboard)
        const choice = random.next()
        if (choice < 0.4) dashboard.stall()
        else if (choice < 0.7) dashboard.cut()
        await this.#stay(300, 3_000)
        dashboard.unstall()
      }
      if (random.next() < 0.5) dashboard.stop()
      await runner.api.must('POST', '/auth/logout', { headers: { authorization } })
      await this.#stay(200, 200)
    } finally {
      dashboard.stop()
    }
    if (dashboard.faultCount > 0) throw new Error(dashboard.faults.join('; '))
  }

  async #untilLive(dashboard: Dashboard): Promise<void> {
    if (!(await until(() => dashboard.isLive || this.#isOver(), onlineMsMax, 20)))
      throw new Error(`a subscriber is not live within ${onlineMsMax / 1000} s`)
  }

  async #stay(low: number, high: number): Promise<void> {
    const end = performance.now() + this.#server.random.between(low, high)
    while (performance.now() < end && !this.#isOver()) await pass(Math.min(100, Math.max(1, end - performance.now())))
  }
}
