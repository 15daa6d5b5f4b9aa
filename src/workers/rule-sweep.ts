import { alarmIndex } from '#actors/device/alarms'
import { serviceIndex } from '#actors/device/declaration'
import { deviceAddress } from '#actors/device/device'
import { judgeWhole } from '#actors/device/judge'
import { isTenantThere, tenantsThere } from '#actors/directory/queries'
import { tenantAddress } from '#actors/tenant/address'
import type { SweepDone, SweepProgress } from '#actors/tenant/commands'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { RuleViews } from '#rules/rule-views'
import { type Listing, namesOf, type Pages } from '#runtime/listing'
import type { System } from '#runtime/system'
import { Pace, Stopped } from '#workers/pace'

export interface RuleSweepParts {
  readonly system: System<Entry>
  readonly listing: Listing
  readonly rules: RuleViews
  /** What could not be done is done again. */
  readonly failed: (error: unknown) => void
}

/** How far a sweep came is stored this often, in devices. */
const devicesPerProgress = 4_096
const listedAtATime = 1_024
/** Alarms that one pass through the devices is made for: each has a row of its own about how far that came. */
const alarmsPerPass = 256
/** A sweep is noted where it is asked for; of more than these the rest is noted as their turn comes. */
const notedAtOnce = 256
const pace = { sliceMs: 1, underWayMax: 256 }
const retryMs = 1_000

/** An alarm that was asked for: once more is another. */
interface Asked {
  readonly alarm: string
  /** '' for one that is no more. */
  readonly digest: string
  readonly ticket: number
}

/** Alarms of one tenant whose devices are gone through together. */
interface Pass {
  readonly tenant: string
  readonly alarms: readonly Asked[]
  /** All that offer it; undefined: those that the alarms name. */
  readonly service: string | undefined
  /** Behind which device; '' before the first. */
  readonly cursor: string
}

/**
 * Has devices judged anew that no report of theirs would have judged: after an edit of an alarm, a group, a schema or a
 * role, and of what a killed process did not get done. Contract 5.3.
 *
 * A digest stands for all that decides by an alarm. Its tenant remembers by which one all its devices were judged last, and
 * by which some may have been since: where either is not the digest of now, its devices are due. A device judges by all its
 * alarms at once, so many alarms take one pass. Devices are looked at where they sleep; only those that something comes of
 * are asked to judge.
 */
export class RuleSweep {
  readonly #parts: RuleSweepParts
  readonly #pace: Pace
  /** Alarms by tenant, in the order they were asked for, with the ticket of the last time. */
  readonly #wanted = new Map<string, Map<string, number>>()
  #tickets = 0
  #isRunning = false
  #isStopped = false
  #cancelRetry: (() => void) | undefined

  constructor(parts: RuleSweepParts) {
    this.#parts = parts
    this.#pace = new Pace(parts.system.world, pace)
  }

  /** An alarm decides otherwise than before. Told as soon as it does, before any device is judged by it. */
  want(tenant: string, alarm: string): void {
    if (this.#isStopped || !isTenantThere(this.#parts.system, tenant)) return
    this.#add(tenant, alarm)
    if ((this.#wanted.get(tenant)?.size ?? 0) <= notedAtOnce) this.#note(tenant, alarm)
    this.#begin()
  }

  /** After the store was read and the rules were loaded: all that is due. @throws Problem `storage` */
  open(): void {
    const { system } = this.#parts
    for (const tenant of tenantsThere(system)) {
      for (const [alarm, { digest, sweeping }] of system.wake(tenantAddress(tenant)).judged) {
        const now = this.#digestOf(tenant, alarm)
        if (now === '' || digest !== now || sweeping !== null) this.#add(tenant, alarm)
      }
    }
    this.#begin()
  }

  reloaded(): void {
    this.open()
  }

  /** The tenant is being deleted: none of its actors is asked any more. */
  tenantEnded(tenant: string): void {
    this.#wanted.delete(tenant)
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelRetry?.()
    this.#pace.stop()
    this.#wanted.clear()
  }

  #add(tenant: string, alarm: string): void {
    let alarms = this.#wanted.get(tenant)
    if (!alarms) {
      alarms = new Map()
      this.#wanted.set(tenant, alarms)
    }
    alarms.set(alarm, ++this.#tickets)
  }

  #begin(): void {
    if (this.#isRunning || this.#isStopped || this.#cancelRetry) return
    this.#isRunning = true
    this.#run()
      .catch((error: unknown) => this.#retryLater(error))
      .finally(() => {
        this.#isRunning = false
        if (this.#wanted.size > 0) this.#begin()
      })
  }

  /** What was wanted still is. */
  #retryLater(error: unknown): void {
    if (this.#isStopped || error instanceof Stopped) return
    // A failed write, which others say: it goes on when the store takes writes again.
    if (!(error instanceof Problem)) this.#parts.failed(error)
    this.#cancelRetry = this.#parts.system.world.after(retryMs, () => {
      this.#cancelRetry = undefined
      this.#begin()
    })
  }

  async #run(): Promise<void> {
    const { gate } = this.#parts.system
    // Once more after it is settled: what a device says by the rules of before may not be listed yet.
    for (await gate.settled(); this.#wanted.size > 0; await gate.settled()) {
      // While the store takes no writes nothing could come of it, however many were looked at.
      if (!gate.isOpen) throw new Problem('storage')
      const pass = this.#next()
      if (pass) await this.#go(pass)
    }
  }

  /** Of what was asked for first, and with it all that goes through the same devices. */
  #next(): Pass | undefined {
    for (const [tenant, alarms] of this.#wanted) {
      const [first] = alarms.keys()
      if (first !== undefined) return this.#passOf(tenant, alarms, first)
      this.#wanted.delete(tenant)
    }
    return undefined
  }

  #passOf(tenant: string, alarms: ReadonlyMap<string, number>, first: string): Pass {
    const [service, cursor] = this.#routeOf(tenant, first)
    const asked: Asked[] = []
    for (const [alarm, ticket] of alarms) {
      const route = this.#routeOf(tenant, alarm)
      if (route[0] !== service || route[1] !== cursor) continue
      asked.push({ alarm, digest: this.#digestOf(tenant, alarm), ticket })
      if (asked.length === alarmsPerPass) break
    }
    return { tenant, alarms: asked, service, cursor }
  }

  /** Through which devices, and behind which of them. */
  #routeOf(tenant: string, alarm: string): readonly [service: string | undefined, cursor: string] {
    const { system, rules } = this.#parts
    const { judged, alarms } = system.wake(tenantAddress(tenant))
    if (rules.of(tenant)?.boundOf(alarm) !== '*') return [undefined, '']
    const stands = judged.get(alarm)
    const isBegun = stands?.sweeping === this.#digestOf(tenant, alarm)
    return [alarms.get(alarm)?.serviceIdentifier, isBegun ? stands.cursor : '']
  }

  async #go(pass: Pass): Promise<void> {
    const { tenant, alarms } = pass
    for (const { alarm } of alarms) this.#note(tenant, alarm)
    // Whatever stands anywhere, also where the alarm is bound no more.
    for (const { alarm } of alarms) {
      const rows = this.#parts.listing.entries(alarmIndex, tenant, `${alarm}/`)
      await this.#through(pass, rows, (row) => row.slice(alarm.length + 1))
    }
    await this.#throughBound(pass)
    for (const asked of this.#standing(pass)) {
      const { alarm, digest } = asked
      await this.#ask(tenant, { type: 'sweep_done', alarm, digest })
      if (this.#isStanding(tenant, asked)) this.#wanted.get(tenant)?.delete(alarm)
    }
  }

  #throughBound(pass: Pass): Promise<void> {
    const { tenant, service, cursor } = pass
    if (service === undefined) return this.#through(pass, namesOf(this.#named(pass)), (device) => device)
    const after = cursor === '' ? '' : `${service}/${cursor}`
    const rows = this.#parts.listing.entries(serviceIndex, tenant, `${service}/`, after)
    return this.#through(
      pass,
      rows,
      (row) => row.slice(service.length + 1),
      (device) => this.#cameTo(pass, device),
    )
  }

  /** All that its alarms name, each once. */
  *#named({ tenant, alarms }: Pass): Generator<string, undefined> {
    const seen = new Set<string>()
    for (const { alarm } of alarms) {
      const bound = this.#parts.rules.of(tenant)?.boundOf(alarm) ?? []
      for (const devices of bound === '*' ? [] : bound) {
        for (const device of devices) {
          if (!seen.has(device)) yield device
          seen.add(device)
        }
      }
    }
  }

  /** Ends early when every one of its alarms was asked for anew. */
  async #through(
    pass: Pass,
    pages: Pages,
    deviceOf: (name: string) => string,
    cameTo: (device: string) => void = () => {},
  ): Promise<void> {
    let count = 0
    try {
      for (let page = await pages.next(listedAtATime); page.length > 0; page = await pages.next(listedAtATime)) {
        if (this.#standing(pass).length === 0) return
        await this.#pace.each(page, (name) => this.#judge(pass.tenant, deviceOf(name)))
        count += page.length
        if (count < devicesPerProgress) continue
        count = 0
        cameTo(deviceOf(page.at(-1) ?? ''))
      }
    } finally {
      await pages.close()
    }
  }

  /** The turns that judged those before are taken: it is stored with them or after them. */
  #cameTo(pass: Pass, cursor: string): void {
    for (const { alarm, digest } of this.#standing(pass)) {
      this.#tell(pass.tenant, { type: 'sweep_progress', alarm, digest, cursor })
    }
  }

  #judge(tenant: string, device: string): Promise<void> | undefined {
    const { system, rules } = this.#parts
    if (!this.#wanted.has(tenant)) return undefined
    const address = deviceAddress(tenant, device)
    const state = system.peek(address)
    const remindedAt = system.reminders.dueAt(address) ?? null
    if (!state || !judgeWhole(state, rules.of(tenant), system.world.now(), remindedAt)) return undefined
    return this.#askToJudge(tenant, device)
  }

  async #askToJudge(tenant: string, device: string): Promise<void> {
    const { system } = this.#parts
    try {
      await system.ask(deviceAddress(tenant, device), { type: 'judge' })
    } catch (error) {
      if (!(error instanceof Problem) || error.code === 'storage') throw error
      // A bug in its turn was said, and keeps nobody else from being judged.
      if (error.code !== 'overloaded') return
      await new Promise<void>((resolve) => system.world.after(retryMs, resolve))
      if (!this.#isStopped && this.#wanted.has(tenant)) await this.#askToJudge(tenant, device)
    }
  }

  /**
   * Says in the store that devices may be judged by what is now, before any is. What comes back to a digest of before, as
   * after two edits of a role, would else look as if nothing had been.
   */
  #note(tenant: string, alarm: string): void {
    const digest = this.#digestOf(tenant, alarm)
    const { judged } = this.#parts.system.wake(tenantAddress(tenant))
    if (judged.get(alarm)?.sweeping === digest) return
    this.#tell(tenant, { type: 'sweep_progress', alarm, digest, cursor: '' })
  }

  /** What a failed write takes back is due again when the store was read. */
  #tell(tenant: string, command: SweepProgress): void {
    this.#ask(tenant, command).catch(() => {})
  }

  /** Never refused because too much waits: it follows from what was accepted. */
  #ask(tenant: string, command: SweepProgress | SweepDone): Promise<unknown> {
    return this.#parts.system.ask(tenantAddress(tenant), command, 0)
  }

  #standing({ tenant, alarms }: Pass): readonly Asked[] {
    return alarms.filter((asked) => this.#isStanding(tenant, asked))
  }

  #isStanding(tenant: string, { alarm, ticket }: Asked): boolean {
    return this.#wanted.get(tenant)?.get(alarm) === ticket
  }

  #digestOf(tenant: string, alarm: string): string {
    return this.#parts.rules.of(tenant)?.digestOf(alarm) ?? ''
  }
}
