import { deviceAddress } from '#actors/device/device'
import { noFirmwares } from '#actors/device/state'
import { isTenantActive } from '#actors/directory/queries'
import type { UpdateNotices } from '#actors/notice-bus'
import { isRunning } from '#actors/update/machine'
import {
  type BeginAnswer,
  type StoredUpdate,
  type UpdateCommand,
  type UpdateCommands,
  type UpdateContext,
  updateAddress,
  updatingIndex,
} from '#actors/update/state'
import { firstUpdate, PendingTriggers, queriesOf } from '#firmware/pending-triggers'
import { hasBegunAt } from '#firmware/update-slots'
import {
  type CheckOptions,
  deviceNow,
  UpdateStarter,
  type UpdateStarterParts,
  updateNow,
} from '#firmware/update-starter'
import type { Link, LinkedDevice } from '#link/link'
import type { FirmwareListener } from '#link/offers'
import type { Firmware } from '#model/entry'
import type { Trigger, TriggerOutcome } from '#model/firmware'
import type { FirmwareStatusMessage } from '#model/link-message'
import { Problem } from '#model/problem'
import { hasFallenBack, hasReachedVersion } from '#model/release'
import { UpdateServerBusy, UpdateServerFailed } from '#model/update-offer'
import type { Listing } from '#runtime/storage'
import { Pace, WorkStopped } from '#workers/pace'
import { storedEntries } from '#workers/stored-entries'

export interface UpdaterParts extends UpdateStarterParts {
  readonly listing: Listing
  /** How long a device has to answer an offer. */
  readonly offerTimeoutMs: number
  /** Running updates could not be read; the read is retried. */
  readonly failed: (error: unknown) => void
}

export interface TriggerRequest {
  readonly tenant: string
  readonly device: string
  /** 16 bytes: a repeated request with the same seed refers to the same update. */
  readonly seed: Uint8Array
  readonly signal: AbortSignal
}

/**
 * How long a request by hand waits in addition to the time for an offer, in ms: `checkingMsMax` of the update, and a
 * margin.
 */
const waitedMoreMs = 40_000
const resuming = { sliceMs: 1, underWayMax: 64 }
const retryMs = 1_000
const noAddress = 'no address of this server is known'

/**
 * Runs updates: checks triggers, asks the update server, passes messages from device connections to the updates, and
 * answers waiting requests. Contract 6.
 *
 * - The state of an update is in its actor. Only counts, the order of starts and waiting requests are kept here; a
 *   process that dies loses only the requests.
 * - Actions of an update (asking, offering) follow from a stored turn of its actor. If an action is missed, the
 *   deadline of the update ends it.
 * - A request by hand is answered within `offerTimeoutMs` plus 40 s.
 */
export class Updater implements FirmwareListener, UpdateNotices {
  readonly #parts: UpdaterParts
  readonly #pending: PendingTriggers
  readonly starter: UpdateStarter
  readonly #pace: Pace
  readonly counts = { offered: 0, done: 0, failed: 0 }
  #isStopped = false

  constructor(parts: UpdaterParts) {
    this.#parts = parts
    const { world } = parts.system
    this.#pending = new PendingTriggers(world, parts.offerTimeoutMs + waitedMoreMs)
    this.starter = new UpdateStarter(parts)
    this.#pace = new Pace(world, resuming)
  }

  /** Continues running updates. Call it after the store was read, and if possible before device messages arrive. */
  async open(): Promise<void> {
    const found: { readonly tenant: string; readonly device: string }[] = []
    this.starter.open()
    for await (const { tenant, entry: device } of storedEntries(this.#parts, updatingIndex)) {
      const stored = updateNow(this.#parts.system, tenant, device)
      if (!stored || !isRunning(stored.state)) continue
      this.starter.setStored(tenant, device, stored)
      found.push({ tenant, device })
    }
    void this.#resume(found)
  }

  /** The store was read again after a failed write: running updates are those that are stored. */
  reloaded(): void {
    this.#pending.settleAll({ status: 'SERVER_ERROR', message: 'could not be stored' })
    this.starter.clear()
    this.open().catch((error: unknown) => {
      // After a failed write, `open` is called again when the store has been read.
      if (this.#isStopped || isStorage(error)) return
      this.#parts.failed(error)
      this.#parts.system.world.after(retryMs, () => this.reloaded())
    })
  }

  /** Call it before device connections are closed: afterwards, a closed connection has no meaning for an update. */
  stop(): void {
    this.#isStopped = true
    this.#pace.stop()
    this.starter.stop()
    this.#pending.refuseAll(new Problem('stopping'))
  }

  /** The tenant is being deleted: its actors get no more requests. */
  tenantEnded(tenant: string): void {
    this.starter.clear(tenant)
    this.#pending.refuseAll(new Problem('not_found'), tenant)
  }

  /**
   * Starts an update by hand, also for devices that refuse automatic updates. If an update is running, the request
   * joins it.
   * @throws Problem `not_found`, `overloaded`, `storage`, `stopping`
   */
  async trigger({ tenant, device, seed, signal }: TriggerRequest): Promise<TriggerOutcome> {
    const { system, links } = this.#parts
    if (this.#isStopped) throw new Problem('stopping')
    const { closedCount } = system.gate
    const known = system.peek(deviceAddress(tenant, device))
    const stored = updateNow(system, tenant, device)
    const id = Buffer.from(seed).toString('hex')
    // An earlier request with the same seed may have begun an update, which may be over.
    const isThere = stored !== undefined && (isRunning(stored.state) || stored.context.id === id)
    const linked = links.linkedOf(tenant, device)
    const isLinked = linked?.link.isOpen === true
    const { project = null, firmwares = noFirmwares } = known ?? {}
    if (!isThere && (!isLinked || project === null || firmwares.length === 0)) {
      await system.gate.whenStored(closedCount)
      if (!known) throw new Problem('not_found')
      return isLinked ? { status: 'NO_UPDATE' } : { status: 'DEVICE_OFFLINE' }
    }
    const begin: UpdateCommand = {
      type: 'begin',
      by: 'post',
      project: project ?? stored?.context.project ?? '',
      firmwares,
      session: linked?.session ?? '',
      id,
      found: null,
    }
    return await new Promise<TriggerOutcome>((answered, refused) => {
      const late = () => this.#late(tenant, device)
      system.turn(updateAddress(tenant, device), begin, {
        answered: (answer) => {
          const begun = answer as BeginAnswer
          if (begun.outcome === 'over') answered(begun.result)
          else if (begun.outcome === 'joined' && hasBegunAt(begun.state)) {
            answered({ status: 'STARTED', message: 'already running' })
          } else if (this.#isStopped) refused(new Problem('stopping'))
          // Added synchronously, because the result may follow directly.
          else this.#pending.add(tenant, device, { signal, late, answered, refused })
        },
        refused,
      })
    })
  }

  /**
   * Starts an automatic update if there is one for the device and the trigger applies. Resolves when the update
   * started, waits for its slot or is not needed, so that scans can wait for it.
   * @throws Problem `overloaded` if `checkOptions` have a `hold` and too many updates wait
   */
  async consider(tenant: string, device: string, by: Trigger, checkOptions: CheckOptions = {}): Promise<void> {
    await this.starter.consider({ ...checkOptions, tenant, device, by })
  }

  welcomed(linked: LinkedDevice, reported: readonly Firmware[]): void {
    const { tenant } = linked.link.opening
    const { device, session } = linked
    const known = deviceNow(this.#parts.system, tenant, device)
    if (this.#isStopped || !known || known.project === null || known.firmwares.length === 0) return
    const stored = updateNow(this.#parts.system, tenant, device)
    if (stored && concernsReturn(stored, reported)) {
      // Two ticks later: by then this update has ended, and the next firmware of the device has been checked.
      const { world } = this.#parts.system
      const settled = () => world.soon(() => world.soon(() => void this.starter.returned(tenant, device)))
      // If a request by hand has joined the update, the offer counts as by hand.
      const isRefusing = !known.isAutoUpdated && !this.#pending.has(tenant, device)
      this.#send(tenant, device, { type: 'reconnected', session, firmwares: reported, isRefusing }, settled)
    } else void this.starter.returned(tenant, device)
  }

  statusReceived(linked: LinkedDevice, { id, status, progress, message }: FirmwareStatusMessage): void {
    const { link, device } = linked
    const { tenant } = link.opening
    const stored = updateNow(this.#parts.system, tenant, device)
    // The message belongs to no recent offer: it is late, or a duplicate.
    if (stored?.context.id !== id) return
    this.starter.renew(tenant, device)
    const report: UpdateCommand = {
      type: 'reported',
      id,
      status,
      ...(progress !== undefined && { progress }),
      ...(message !== undefined && { message }),
    }
    this.#send(tenant, device, report, () => link.accepted())
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

  updateMoved(tenant: string, device: string, stored: StoredUpdate | undefined): void {
    const before = this.starter.runningOf(tenant, device)
    if (stored?.state !== 'offering') this.#parts.links.offers.forget(tenant, device)
    if (!stored) this.#pending.refuse(tenant, device, new Problem('not_found'))
    else if (stored.state === 'offering' && before?.state !== 'offering') this.counts.offered++
    else if (stored.state === 'done') this.counts.done++
    else if (before && (stored.state === 'failed' || stored.state === 'refused')) this.counts.failed++
    this.starter.setStored(tenant, device, stored)
  }

  updateCheckWanted(tenant: string, device: string, context: UpdateContext): void {
    void this.#ask(tenant, device, context)
  }

  updateOfferWanted(tenant: string, device: string, { id, offer }: UpdateContext): void {
    const { links } = this.#parts
    if (!offer || this.#isStopped || links.offers.send(tenant, device, id, offer)) return
    const isNowhere = links.linkedOf(tenant, device)?.link.isOpen && !links.offers.urlOf(tenant, device, offer)
    if (isNowhere) this.#send(tenant, device, { type: 'not_found', id, why: 'fault', message: noAddress })
    // The device is offline. A waiting request is answered; otherwise the device may reconnect before the deadline.
    else if (this.#pending.has(tenant, device)) this.#lost(tenant, device, id)
  }

  triggerSettled(tenant: string, device: string, outcome: TriggerOutcome): void {
    this.#pending.settle(tenant, device, outcome)
  }

  updateRetryDue(tenant: string, device: string): void {
    const wanted = this.starter.retryOf(tenant, device)
    if (wanted) this.#soon(tenant, device, wanted.by, wanted)
  }

  nextUpdateWanted(tenant: string, device: string, by: Trigger, rest: readonly number[]): void {
    this.#soon(tenant, device, by, { only: rest })
  }

  /** Checks the device after all other effects of the same turn. */
  #soon(tenant: string, device: string, by: Trigger, checkOptions: CheckOptions = {}): void {
    this.#parts.system.world.soon(() => void this.consider(tenant, device, by, checkOptions))
  }

  async #ask(tenant: string, device: string, { id, index, rest, by }: UpdateContext): Promise<void> {
    const { checks } = this.#parts
    const known = deviceNow(this.#parts.system, tenant, device)
    const queries = known ? queriesOf(tenant, known, by !== 'post', [index, ...rest]) : []
    let answer: UpdateCommand
    try {
      const search = firstUpdate(
        queries,
        (query) => checks.now(query),
        () => true,
      )
      // A result that is known at once is passed on without a wait, so that the release cannot be deleted in between.
      const found: Awaited<typeof search> = search instanceof Promise ? await search : search
      answer = found ? { type: 'found', id, ...found } : { type: 'not_found', id, why: 'none' }
    } catch (error) {
      if (error instanceof Problem) this.#pending.refuse(tenant, device, error)
      answer = { type: 'not_found', id, ...this.#whyNot(error) }
    }
    if (!this.#isStopped) this.#send(tenant, device, answer)
  }

  #whyNot(error: unknown): Pick<UpdateCommands['not_found'], 'why' | 'message'> {
    if (error instanceof UpdateServerBusy) return { why: 'busy', message: error.message }
    if (error instanceof UpdateServerFailed) return { why: 'failed', message: error.message }
    if (!(error instanceof Problem)) this.#parts.bug(error, 'asking the update server')
    return { why: 'fault' }
  }

  #lost(tenant: string, device: string, id: string): void {
    if (!this.#isStopped) this.#send(tenant, device, { type: 'lost', id })
  }

  /** Never refused for overload, because it reports a fact. A failed write is reported to waiting requests. */
  #send(tenant: string, device: string, command: UpdateCommand, answered: () => void = () => {}): void {
    const refused = (problem: Problem) => {
      this.#pending.settle(tenant, device, { status: 'SERVER_ERROR', message: problem.message })
    }
    const { system } = this.#parts
    if (system.isServing && !isTenantActive(system, tenant)) return
    system.turn(updateAddress(tenant, device), command, { answered, refused }, 0)
  }

  #late(tenant: string, device: string): TriggerOutcome {
    const isOffered = this.starter.runningOf(tenant, device)?.state === 'offering'
    if (isOffered) return { status: 'DEVICE_OFFLINE', message: 'the device did not answer' }
    return { status: 'SERVER_ERROR', message: 'took too long' }
  }

  async #resume(found: readonly { readonly tenant: string; readonly device: string }[]): Promise<void> {
    const { system } = this.#parts
    try {
      await this.#pace.each(found, async ({ tenant, device }) => {
        if (!isTenantActive(system, tenant)) return
        const firmwares = deviceNow(system, tenant, device)?.firmwares ?? []
        await system.ask(updateAddress(tenant, device), { type: 'resume', firmwares }, 0)
      })
    } catch (error) {
      // After a failed write, everything is resumed when the store has been read.
      if (!(error instanceof WorkStopped || isStorage(error))) this.#parts.bug(error, 'resuming updates')
    }
  }
}

/**
 * Whether the reconnection of the device changes the update: the update is running, a failed update succeeded after
 * all, or a completed update was reverted.
 */
function concernsReturn({ state, context }: StoredUpdate, reported: readonly Firmware[]): boolean {
  if (isRunning(state)) return true
  const { offer, from, index } = context
  const has = reported.find((firmware) => firmware.index === index)?.firmware
  if (has === undefined || !offer) return false
  if (state === 'done') return hasFallenBack(has, offer.firmware, from)
  return state === 'failed' && hasReachedVersion(has, offer.firmware, from)
}

function isStorage(error: unknown): boolean {
  return error instanceof Problem && error.code === 'storage'
}
