import { deviceAddress } from '#actors/device/device'
import { noFirmwares } from '#actors/device/state'
import { isTenantThere, tenantsThere } from '#actors/directory/queries'
import { updateAddress, updatingIndex } from '#actors/update/address'
import type { BeginAnswer, BeginUpdate, NoUpdateFound, UpdateCommand } from '#actors/update/commands'
import { isRunning } from '#actors/update/machine'
import type { UpdateNotices } from '#actors/update/notices'
import type { StoredUpdate, UpdateContext } from '#actors/update/state'
import { Beginnings, type BeginningsParts, deviceNow, updateNow } from '#firmware/beginnings'
import type { Manner } from '#firmware/considered'
import { firstUpdate, questionsOf } from '#firmware/search'
import { hasBegunAt } from '#firmware/under-way'
import { Waiters } from '#firmware/waiters'
import type { Link, LinkedDevice } from '#link/link'
import type { FirmwareListener } from '#link/offers'
import type { Firmware } from '#model/entry'
import type { Trigger, TriggerOutcome, UpdateState } from '#model/firmware'
import { hasArrived, hasFallenBack } from '#model/firmware-order'
import type { FirmwareStatusMessage } from '#model/link-message'
import { Problem } from '#model/problem'
import { UpdateServerBusy, UpdateServerFailed } from '#model/update-offer'
import type { Listing } from '#runtime/listing'
import { Pace, Stopped } from '#workers/pace'

export interface UpdaterParts extends BeginningsParts {
  readonly listing: Listing
  /** How long a device has to answer what it is offered. */
  readonly offerTimeoutMs: number
  /** What was under way could not be read; it is tried again. */
  readonly failed: (error: unknown) => void
}

export interface TriggerRequest {
  readonly tenant: string
  readonly device: string
  /** 16 bytes: asked for again with the same, it is the same update. */
  readonly seed: Uint8Array
  readonly signal: AbortSignal
}

/** Beside the time an offer may take: what the update server may take, as the update itself gives it, and some more. */
const waitedMoreMs = 40_000
const resuming = { sliceMs: 1, underWayMax: 64 }
const listedAtATime = 256
const retryMs = 1_000
const noAddress = 'no address of this server is known'

/**
 * Brings updates about: judges what may begin one, asks the update server, leads what links hear to the updates of the
 * devices, and tells who asked for one what became of it. Contract 6.
 *
 * - What is known of an update is in its actor. Nothing of it is kept here but how many there are, whose turn it is, and
 *   who waits; a process that dies forgets only the latter.
 * - What is done about an update (asking, offering) follows from a turn of its actor that is stored. What could not be
 *   done shows by its deadline.
 * - Whoever asks by hand hears by `offerTimeoutMs` and 40 s at the latest.
 */
export class Updater implements FirmwareListener, UpdateNotices {
  readonly #parts: UpdaterParts
  readonly #waiters: Waiters
  readonly #beginnings: Beginnings
  readonly #pace: Pace
  readonly counts = { offered: 0, done: 0, failed: 0 }
  #isStopped = false

  constructor(parts: UpdaterParts) {
    this.#parts = parts
    const { world } = parts.system
    this.#waiters = new Waiters(world, parts.offerTimeoutMs + waitedMoreMs)
    this.#beginnings = new Beginnings(parts)
    this.#pace = new Pace(world, resuming)
  }

  get underWay(): number {
    return this.#beginnings.runningCount
  }

  /** How many of those under way are in each state. */
  get states(): Readonly<Record<UpdateState, number>> {
    return this.#beginnings.states
  }

  /** Found by themselves, and not begun: they wait for a place. */
  get waiting(): number {
    return this.#beginnings.waitingCount
  }

  /** Goes on with what was under way. After the store was read, and before devices are heard if that can be. */
  async open(): Promise<void> {
    const { system, listing } = this.#parts
    const found: { readonly tenant: string; readonly device: string }[] = []
    this.#beginnings.open()
    for (const tenant of tenantsThere(system)) {
      const pages = listing.entries(updatingIndex, tenant)
      try {
        for (let names = await pages.next(listedAtATime); names.length > 0; names = await pages.next(listedAtATime)) {
          for (const device of names) {
            const stored = updateNow(system, tenant, device)
            if (!stored || !isRunning(stored.state)) continue
            this.#beginnings.stands(tenant, device, stored)
            found.push({ tenant, device })
          }
        }
      } finally {
        await pages.close()
      }
    }
    void this.#resume(found)
  }

  /** The store was read again after a failed write: what was under way is what is stored. */
  reloaded(): void {
    this.#waiters.settleAll({ status: 'SERVER_ERROR', message: 'could not be stored' })
    this.#beginnings.clear()
    this.open().catch((error: unknown) => {
      // A failed write: it is opened again when the store was read.
      if (this.#isStopped || isStorage(error)) return
      this.#parts.failed(error)
      this.#parts.system.world.after(retryMs, () => this.reloaded())
    })
  }

  /** Before links are closed: that they close says nothing about devices from then on. */
  stop(): void {
    this.#isStopped = true
    this.#pace.stop()
    this.#beginnings.stop()
    this.#waiters.refuseAll(new Problem('stopping'))
  }

  /** The tenant is being deleted: none of its actors is asked any more. */
  tenantEnded(tenant: string): void {
    this.#beginnings.clear(tenant)
    this.#waiters.refuseAll(new Problem('not_found'), tenant)
  }

  /**
   * By hand: the device is asked whatever it refuses to do by itself. Joins the update that is under way.
   * @throws Problem `not_found`, `overloaded`, `storage`, `stopping`
   */
  async trigger({ tenant, device, seed, signal }: TriggerRequest): Promise<TriggerOutcome> {
    const { system, links } = this.#parts
    if (this.#isStopped) throw new Problem('stopping')
    const { closedCount } = system.gate
    const known = system.peek(deviceAddress(tenant, device))
    const stored = updateNow(system, tenant, device)
    const id = Buffer.from(seed).toString('hex')
    // Or it was asked for before, and perhaps is over.
    const isThere = stored !== undefined && (isRunning(stored.state) || stored.context.id === id)
    const linked = links.linkedOf(tenant, device)
    const isLinked = linked?.link.isOpen === true
    const { project = null, firmwares = noFirmwares } = known ?? {}
    if (!isThere && (!isLinked || project === null || firmwares.length === 0)) {
      await system.gate.settled(closedCount)
      if (!known) throw new Problem('not_found')
      return isLinked ? { status: 'NO_UPDATE' } : { status: 'DEVICE_OFFLINE' }
    }
    const begin: BeginUpdate = {
      type: 'begin',
      by: 'post',
      project: project ?? stored?.context.project ?? '',
      firmwares,
      session: linked?.session ?? '',
      seed: id,
      found: null,
    }
    return await new Promise<TriggerOutcome>((answered, refused) => {
      const late = () => this.#late(tenant, device)
      system.turn(updateAddress(tenant, device), begin, {
        answered: (answer) => {
          const begun = answer as BeginAnswer
          if (begun.outcome === 'over') answered(begun.said)
          else if (begun.outcome === 'joined' && hasBegunAt(begun.state)) {
            answered({ status: 'STARTED', message: 'already running' })
          } else if (this.#isStopped) refused(new Problem('stopping'))
          // At once: what becomes of it may be said right behind this.
          else this.#waiters.add(tenant, device, { signal, late, answered, refused })
        },
        refused,
      })
    })
  }

  /**
   * By itself: begins an update if there is one for the device, and it is meant. Settled when it was begun, waits for its
   * turn, or needs nothing: whoever goes through many devices waits for it.
   * @throws Problem `overloaded` when too many wait, to who holds it
   */
  async consider(tenant: string, device: string, by: Trigger, manner: Manner = {}): Promise<void> {
    await this.#beginnings.consider({ ...manner, tenant, device, by })
  }

  welcomed(linked: LinkedDevice, said: readonly Firmware[]): void {
    const { tenant } = linked.link.opening
    const { device, session } = linked
    const known = deviceNow(this.#parts.system, tenant, device)
    if (this.#isStopped || !known || known.project === null || known.firmwares.length === 0) return
    const stored = updateNow(this.#parts.system, tenant, device)
    if (stored && concernsReturn(stored, said)) {
      // What else there is for it is looked at when that is settled, and behind its next firmware.
      const { world } = this.#parts.system
      const settled = () => world.soon(() => world.soon(() => void this.#beginnings.returned(tenant, device)))
      // Who asks by hand has joined it: then it is offered by hand.
      const isRefusing = !known.isAutoUpdated && !this.#waiters.has(tenant, device)
      this.#tell(tenant, device, { type: 'reconnected', session, firmwares: said, isRefusing }, settled)
    } else void this.#beginnings.returned(tenant, device)
  }

  statusReceived(linked: LinkedDevice, { id, status, progress, message }: FirmwareStatusMessage): void {
    const { link, device } = linked
    const { tenant } = link.opening
    const stored = updateNow(this.#parts.system, tenant, device)
    // To nothing that was offered of late: said too late, or twice.
    if (stored?.context.id !== id) return
    this.#beginnings.sign(tenant, device)
    const said: UpdateCommand = {
      type: 'reported',
      id,
      status,
      ...(progress !== undefined && { progress }),
      ...(message !== undefined && { message }),
    }
    this.#tell(tenant, device, said, () => link.accepted())
  }

  left({ link, device }: LinkedDevice): void {
    const { tenant } = link.opening
    for (const offered of this.#parts.links.offers.offeredOn(link)) {
      if (offered.tenant === tenant && offered.device === device) this.#lost(tenant, device, offered.id)
    }
  }

  closed(link: Link): void {
    for (const { tenant, device, id } of this.#parts.links.offers.offeredOn(link)) this.#lost(tenant, device, id)
  }

  updateMoved(tenant: string, device: string, stands: StoredUpdate | undefined): void {
    const before = this.#beginnings.runningOf(tenant, device)
    if (stands?.state !== 'offering') this.#parts.links.offers.forget(tenant, device)
    if (!stands) this.#waiters.refuse(tenant, device, new Problem('not_found'))
    else if (stands.state === 'offering' && before?.state !== 'offering') this.counts.offered++
    else if (stands.state === 'done') this.counts.done++
    else if (before && (stands.state === 'failed' || stands.state === 'refused')) this.counts.failed++
    this.#beginnings.stands(tenant, device, stands)
  }

  updateCheckWanted(tenant: string, device: string, context: UpdateContext): void {
    void this.#ask(tenant, device, context)
  }

  updateOfferWanted(tenant: string, device: string, { id, offer }: UpdateContext): void {
    const { links } = this.#parts
    if (!offer || this.#isStopped || links.offers.send(tenant, device, id, offer)) return
    const isNowhere = links.linkedOf(tenant, device)?.link.isOpen && !links.offers.urlOf(tenant, device, offer)
    if (isNowhere) this.#tell(tenant, device, { type: 'not_found', id, why: 'fault', message: noAddress })
    // Nobody speaks for it. Who waits hears so; else it may come back until its time is over.
    else if (this.#waiters.has(tenant, device)) this.#lost(tenant, device, id)
  }

  triggerSettled(tenant: string, device: string, outcome: TriggerOutcome): void {
    this.#waiters.settle(tenant, device, outcome)
  }

  updateRetryDue(tenant: string, device: string): void {
    const wanted = this.#beginnings.retryOf(tenant, device)
    if (wanted) this.#soon(tenant, device, wanted.by, wanted)
  }

  nextUpdateWanted(tenant: string, device: string, by: Trigger, rest: readonly number[]): void {
    this.#soon(tenant, device, by, { only: rest })
  }

  /** Behind all that follows from the same turn. */
  #soon(tenant: string, device: string, by: Trigger, manner: Manner = {}): void {
    this.#parts.system.world.soon(() => void this.consider(tenant, device, by, manner))
  }

  async #ask(tenant: string, device: string, { id, index, rest, by }: UpdateContext): Promise<void> {
    const { checks } = this.#parts
    const known = deviceNow(this.#parts.system, tenant, device)
    const questions = known ? questionsOf(tenant, known, by !== 'post', [index, ...rest]) : []
    let answer: UpdateCommand
    try {
      const asked = firstUpdate(
        questions,
        (question) => checks.now(question),
        () => true,
      )
      // What is known at once is offered at once: nobody takes the release away in between.
      const found: Awaited<typeof asked> = asked instanceof Promise ? await asked : asked
      answer = found ? { type: 'found', id, ...found } : { type: 'not_found', id, why: 'none' }
    } catch (error) {
      if (error instanceof Problem) this.#waiters.refuse(tenant, device, error)
      answer = { type: 'not_found', id, ...this.#whyNot(error) }
    }
    if (!this.#isStopped) this.#tell(tenant, device, answer)
  }

  #whyNot(error: unknown): Pick<NoUpdateFound, 'why' | 'message'> {
    if (error instanceof UpdateServerBusy) return { why: 'busy', message: error.message }
    if (error instanceof UpdateServerFailed) return { why: 'failed', message: error.message }
    if (!(error instanceof Problem)) this.#parts.bug(error, 'asking the update server')
    return { why: 'fault' }
  }

  #lost(tenant: string, device: string, id: string): void {
    if (!this.#isStopped) this.#tell(tenant, device, { type: 'lost', id })
  }

  /** Never refused because too much waits: it says what is so. What cannot be stored is said to who waits. */
  #tell(tenant: string, device: string, command: UpdateCommand, answered: () => void = () => {}): void {
    const refused = (problem: Problem) => {
      this.#waiters.settle(tenant, device, { status: 'SERVER_ERROR', message: problem.message })
    }
    const { system } = this.#parts
    if (system.isServing && !isTenantThere(system, tenant)) return
    system.turn(updateAddress(tenant, device), command, { answered, refused }, 0)
  }

  #late(tenant: string, device: string): TriggerOutcome {
    const isOffered = this.#beginnings.runningOf(tenant, device)?.state === 'offering'
    if (isOffered) return { status: 'DEVICE_OFFLINE', message: 'the device did not answer' }
    return { status: 'SERVER_ERROR', message: 'took too long' }
  }

  async #resume(found: readonly { readonly tenant: string; readonly device: string }[]): Promise<void> {
    const { system } = this.#parts
    try {
      await this.#pace.each(found, async ({ tenant, device }) => {
        if (!isTenantThere(system, tenant)) return
        const firmwares = deviceNow(system, tenant, device)?.firmwares ?? []
        await system.ask(updateAddress(tenant, device), { type: 'resume', firmwares }, 0)
      })
    } catch (error) {
      // A failed write: all of it is resumed when the store was read.
      if (!(error instanceof Stopped || isStorage(error))) this.#parts.bug(error, 'going on with updates')
    }
  }
}

/** Whether an update has to hear that its device came back: it goes on, what failed came about after all, or what was done did not last. */
function concernsReturn({ state, context }: StoredUpdate, said: readonly Firmware[]): boolean {
  if (isRunning(state)) return true
  const { offer, from, index } = context
  const has = said.find((firmware) => firmware.index === index)?.firmware
  if (has === undefined || !offer) return false
  if (state === 'done') return hasFallenBack(has, offer.firmware, from)
  return state === 'failed' && hasArrived(has, offer.firmware, from)
}

function isStorage(error: unknown): boolean {
  return error instanceof Problem && error.code === 'storage'
}
