import { actionPageAddress, pageDevicesMax, pageRecord, type StoredPage } from '#actors/action/action'
import type { WriteOutcome } from '#link/open-writes'
import type { DeviceOutcome, StoredAction } from '#model/action'
import type { Entry } from '#model/entry'
import { getOrInsert } from '#model/map-values'
import type { Problem, ProblemDetail } from '#model/problem'
import type { System } from '#runtime/system'

/** The limit of concurrent requests of one action, so that its slow devices do not stop other actions. */
const underWayMax = 64

/** The pause before devices are retried; it doubles after each pass without an outcome. */
const retryMsMin = 1_000
const retryMsMax = 8_000

type PlacedOutcome = readonly [place: number, outcome: DeviceOutcome]

export interface ActionTask {
  readonly action: RunningAction
  readonly page: number
  readonly place: number
  readonly device: string
}

/**
 * A running action: the devices to ask next, and outcomes that are not stored yet. It scans the devices in passes. A
 * device without an outcome is retried in the next pass.
 */
export class RunningAction {
  readonly tenant: string
  readonly id: string
  readonly stored: StoredAction
  /** Set when the action is done, the tenant was deleted, or the process stops: nothing more is stored. */
  isEnded = false
  /** Pages with devices that have no outcome. */
  readonly open: Set<number>
  /** Devices that once did not answer: they may have executed the write, even if this outcome was not stored. */
  readonly unanswered = new Set<string>()
  /** The last write of outcomes; the next one waits for it. */
  storing: Promise<boolean> = Promise.resolve(true)
  readonly #system: System<Entry>
  readonly #unstored = new Map<number, PlacedOutcome[]>()
  #pages: number[] = []
  #tasks: ActionTask[] = []
  #underWay = 0
  #outcomes = 0
  #retryMs = retryMsMin
  #passEnded: () => void = () => {}

  constructor(system: System<Entry>, tenant: string, id: string, stored: StoredAction) {
    this.#system = system
    this.tenant = tenant
    this.id = id
    this.stored = stored
    this.open = new Set(Array.from({ length: Math.ceil(stored.total / pageDevicesMax) }, (_, page) => page))
  }

  /** Resolves when every device without an outcome was tried once more. */
  beginPass(): Promise<void> {
    this.#pages = [...this.open].reverse()
    this.#outcomes = 0
    return new Promise((resolve) => {
      this.#passEnded = resolve
    })
  }

  /** Takes the next device to ask; undefined if there is none now. @throws Problem `storage` */
  next(): ActionTask | undefined {
    if (this.#underWay >= underWayMax) return undefined
    while (this.#tasks.length === 0 && this.#pages.length > 0) this.#read(this.#pages.pop() as number)
    const task = this.#tasks.pop()
    if (task) this.#underWay++
    else this.#endPass()
    return task
  }

  /** Records an outcome; undefined: none yet. */
  recordOutcome({ page, place }: ActionTask, outcome: DeviceOutcome | undefined): void {
    this.#underWay--
    if (!outcome) return
    this.#outcomes++
    getOrInsert(this.#unstored, page, () => []).push([place, outcome])
  }

  /**
   * Removes and returns the outcomes to store, by page. The caller gives back those that could not be stored, with
   * `putBack`.
   */
  takeOutcomes(): readonly (readonly [page: number, outcomes: readonly PlacedOutcome[]])[] {
    const unstored = [...this.#unstored]
    this.#unstored.clear()
    return unstored
  }

  putBack(page: number, outcomes: readonly PlacedOutcome[]): void {
    this.#unstored.set(page, [...outcomes, ...(this.#unstored.get(page) ?? [])])
  }

  get hasUnstored(): boolean {
    return this.#unstored.size > 0
  }

  /** The pause before the next pass. */
  waitMs(): number {
    const waited = this.#outcomes > 0 ? retryMsMin : this.#retryMs
    this.#retryMs = Math.min(waited * 2, retryMsMax)
    return waited
  }

  #read(page: number): void {
    const address = actionPageAddress(this.tenant, this.id, page)
    const stored = this.#system.recordOf(address, pageRecord) as StoredPage | undefined
    const tasks = (stored?.devices ?? []).map((device, place) => ({ action: this, page, place, device }))
    this.#tasks = tasks.filter(({ place }) => stored?.outcomes[place] === null).reverse()
    // An earlier process finished this page, or the action has expired.
    if (this.#tasks.length === 0) this.open.delete(page)
  }

  #endPass(): void {
    if (this.#underWay === 0 && this.#pages.length === 0) this.#passEnded()
  }
}

/**
 * The limits of characters for one message and for all messages of a device, because an action may have 100 000
 * devices.
 */
const messageCharactersMax = 128
const messagesCharactersMax = 1_024

/** The outcome of a device's answer. Lists properties only if the device rejected some of them. */
export function outcomeOfWrite({ updates }: WriteOutcome): DeviceOutcome {
  // In some protocols devices do not answer a write. Such a write is done once it is sent.
  if (updates.every(({ status }) => status !== 'REJECTED')) return { status: 'OK' }
  let left = messagesCharactersMax
  const shown = updates.map(({ propId, status, message = '' }) => {
    const cut = message.slice(0, Math.min(messageCharactersMax, left)).toWellFormed()
    left -= cut.length
    return {
      propId,
      status: status === 'REJECTED' ? ('REJECTED' as const) : ('OK' as const),
      ...(cut && { message: cut }),
    }
  })
  return { status: 'REJECTED', updates: shown }
}

/** The outcome if a device was not asked or did not answer. Undefined: retry later. */
export function outcomeOfRefusal(problem: Problem): DeviceOutcome | undefined {
  switch (problem.code) {
    case 'device_offline':
      return { status: 'DEVICE_OFFLINE' }
    case 'device_timeout':
      return { status: 'DEVICE_TIMEOUT' }
    case 'not_found':
      return { status: 'NOT_FOUND' }
    case 'overloaded':
    case 'too_many_requests':
    case 'storage':
    case 'stopping':
      return undefined
    case 'invalid':
      return { status: 'INVALID', details: (problem.details ?? []).map(cutDetail) }
    default:
      return { status: 'INVALID', details: [cutDetail({ path: 'updates', message: problem.message })] }
  }
}

function cutDetail({ path, message }: ProblemDetail): ProblemDetail {
  return { path: path.slice(0, messageCharactersMax).toWellFormed(), message }
}
