import { noticeBus, type UpdateNotices } from '#actors/notice-bus'
import type {
  BeginAnswer,
  FoundUpdate,
  StoredUpdate,
  UpdateActorState,
  UpdateCommand,
  UpdateCommands,
} from '#actors/update/state'
import { updateActor } from '#actors/update/update'
import type { Entry, UpdateChanged } from '#model/entry'
import type { FirmwareStatusMessage } from '#model/link-message'
import type { OfferedFirmware } from '#model/update-offer'
import type { CommandOf, Decision } from '#runtime/actor'
import { ActingActor, outcomeOf } from '#test/actors/acting-actor'

export const offerTimeoutMs = 10_000
const sha256 = 'a'.repeat(64)

/** The offer of a stored release. */
export function offerOf(more: Partial<OfferedFirmware> = {}): OfferedFirmware {
  return { firmware: '2.0.0', index: 0, sha256, size: 9, isPinned: false, url: null, rollout: null, ...more }
}

export function foundOf(more: Partial<OfferedFirmware> = {}, rest: readonly number[] = []): FoundUpdate {
  const offer = offerOf(more)
  return { index: offer.index, from: '1.0.0', offer, rest }
}

export function begin(more: Partial<UpdateCommands['begin']> = {}): CommandOf<UpdateCommands, 'begin'> {
  const firmwares = [{ firmware: '1.0.0', index: 0 }]
  return { type: 'begin', by: 'post', project: 'p', firmwares, session: 's', id: 'J', found: null, ...more }
}

/** The update actor of device A, without a runtime. Notices are recorded as lines. */
export class ActingUpdate extends ActingActor<UpdateActorState, UpdateCommand> {
  readonly #lines: string[]

  constructor() {
    const lines: string[] = []
    const notices: UpdateNotices = {
      updateMoved: () => {},
      updateCheckWanted: (_, device, { id }) => lines.push(`ask ${device} ${id}`),
      updateOfferWanted: (_, device, { id, offer }) => lines.push(`offer ${device} ${id} ${offer?.firmware}`),
      triggerSettled: (_, device, { status, message }) =>
        lines.push(`outcome ${device} ${status}${message ? `: ${message}` : ''}`),
      updateRetryDue: (_, device) => lines.push(`retry ${device}`),
      nextUpdateWanted: (_, device, by, rest) => lines.push(`next ${device} ${by} ${rest}`),
    }
    super(updateActor({ notices, offerTimeoutMs }), { id: 'A' })
    this.#lines = lines
  }

  /** An update that offers 2.0.0 to a device with 1.0.0. Earlier notices are cleared. */
  static offering(more: Partial<UpdateCommands['begin']> = {}): ActingUpdate {
    const acting = new ActingUpdate()
    acting.act(begin({ by: 'connect', found: foundOf(), ...more }))
    acting.clearNotices()
    return acting
  }

  /** The update of `offering` after these messages of the device. */
  static after(...statuses: readonly FirmwareStatusMessage['status'][]): ActingUpdate {
    const acting = ActingUpdate.offering()
    for (const status of statuses) acting.reports(status)
    acting.clearNotices()
    return acting
  }

  /** The notices since the last call. */
  get received(): string[] {
    return this.#lines.splice(0)
  }

  clearNotices(): void {
    this.#lines.length = 0
  }

  get stored(): StoredUpdate {
    if (!this.state.stored) throw new Error('nothing is stored')
    return this.state.stored
  }

  get updateState(): string {
    return this.stored.state
  }

  begins(more: Partial<UpdateCommands['begin']> = {}): BeginAnswer {
    return outcomeOf(this.act(begin(more))) as BeginAnswer
  }

  reports(status: FirmwareStatusMessage['status'], more: { progress?: number; message?: string; id?: string } = {}) {
    return this.act({ type: 'reported', id: this.stored.context.id, status, ...more })
  }

  reconnects(firmware: string | undefined, session = 's') {
    const firmwares = firmware === undefined ? [] : [{ firmware, index: this.stored.context.index }]
    return this.act({ type: 'reconnected', session, firmwares })
  }

  /** Delivers the reminder now. */
  due() {
    const dueAt = this.reminder ?? this.at
    this.reminder = null
    return this.act({ type: 'reminder_due', dueAt })
  }
}

/** The update events of a turn, as `OFFERING 2.0.0 12% message`. */
export function updateEventsOf(decision: Decision<Entry>): string[] {
  if (decision.type !== 'record') return []
  return (decision.events as readonly UpdateChanged[]).map(({ status, firmware, progress, message }) => {
    const parts = [status.toUpperCase(), firmware, progress === undefined ? undefined : `${progress}%`, message]
    return parts.filter((part) => part !== undefined).join(' ')
  })
}

/** An update actor without active updates. It receives the message that the removal of a device sends. */
export const noopUpdates = updateActor({ notices: noticeBus(), offerTimeoutMs: 10_000 })
