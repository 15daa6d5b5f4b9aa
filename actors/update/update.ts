import { type Decisions, putStored, recordActor, recordsWithoutEntry } from '#actors/record-actor'
import { isRunning, machineVersion, noUpdate } from '#actors/update/machine'
import {
  type BeginAnswer,
  type UpdateActorState,
  type UpdateCommand,
  type UpdateCommands,
  type UpdateContext,
  type UpdateEvent,
  updateRecord,
} from '#actors/update/state'
import {
  decideTransition,
  isHeldBack,
  nextStep,
  stageReports,
  type UpdateParts,
  updatingRows,
  waitingAttempts,
} from '#actors/update/transition'
import type { Entry, Firmware } from '#model/entry'
import { updateMessageCharactersMax } from '#model/firmware'
import { hasReachedVersion } from '#model/release'
import { type ActorDefinition, answer, type CommandOf, type Decision, record, type Turn } from '#runtime/actor'

/**
 * The firmware updates of one device: one at a time. Each step is stored, so that after a crash the update continues or
 * times out. `updateMachine` alone decides the states; the turn translates its actions into entries, messages and
 * effects. Contract 6.
 */
export function updateActor(parts: UpdateParts): ActorDefinition<UpdateActorState, UpdateCommand, Entry> {
  return recordActor<UpdateActorState, UpdateCommands>({
    kind: 'update',
    // A stored state is only valid for its version of the machine, so the record has the same version.
    records: { [updateRecord]: { name: 'update of a device', version: machineVersion, upgrades: {} } },
    empty: ({ id }) => ({ device: id, stored: undefined }),
    put: putStored,
    decisions: decisionsWith(parts),
  })
}

function decisionsWith(parts: UpdateParts): Decisions<UpdateActorState, UpdateCommands> {
  const report = (actor: UpdateActorState, command: UpdateReport, turn: Turn) =>
    decideReport(actor, command, turn, parts)
  return {
    found: report,
    not_found: report,
    reported: report,
    lost: report,

    /**
     * One update at a time: a request during a running update joins this update. An automatic update begins with a firmware
     * that is already `found`, so it causes no event for `checking`. A device without a newer firmware causes no event.
     * Contract 6.
     */
    begin(actor, command, turn) {
      const { stored } = actor
      const { by, id, found } = command
      if (stored && isRunning(stored.state)) return answerWith({ outcome: 'joined', state: stored.state })
      if (stored?.context.id === id && stored.context.outcome)
        return answerWith({ outcome: 'over', result: stored.context.outcome })
      if (found && by !== 'post' && isHeldBack(stored?.attempts, found, turn.now))
        return answerWith({ outcome: 'held_back' })
      const moment = { now: turn.now, offerUntil: turn.now + parts.offerTimeoutMs }
      const begin = { type: 'BEGIN', ...moment, begun: contextOf(command, turn.now) } as const
      const events = found ? [begin, { type: 'FOUND', ...moment, found } as const] : [begin]
      return decideTransition(actor, events, turn, parts, { outcome: 'begun', id } satisfies BeginAnswer)
    },

    /**
     * The device sent HELLO; its firmware version shows the progress of the update. If the device now refuses automatic
     * updates, an update that began automatically is not offered again: it has failed. Contract 6, Options.
     */
    reconnected(actor, { session, firmwares, isRefusing = false }, turn) {
      const { stored } = actor
      if (!stored) return answer(undefined)
      const { state, context } = stored
      const reconnect = reconnectEvent(session, reportedFirmware(context, firmwares), turn, parts)
      const isRefused =
        isRefusing && context.by !== 'post' && nextStep(state, context, reconnect)?.actions.has('send_offer') === true
      const event = isRefused
        ? ({ ...reconnect, type: 'FAILED', message: 'the device refuses automatic updates' } as const)
        : reconnect
      return decideTransition(actor, [event], turn, parts)
    },

    /**
     * The server has restarted. If the stored device has the new firmware, the update is done: the previous process may
     * have stopped between the commit of the device and the commit of the update. Otherwise only the device's next HELLO
     * shows whether the device restarted. In the state `checking`, the update server is asked again. In all other states,
     * the device repeats everything that it has to report.
     */
    resume(actor, { firmwares }, turn) {
      const { device, stored } = actor
      if (!stored) return answer(undefined)
      const { state, context } = stored
      const { offer, from, session } = context
      const has = reportedFirmware(context, firmwares)
      if (offer && has !== undefined && hasReachedVersion(has, offer.firmware, from)) {
        return decideTransition(actor, [reconnectEvent(session, has, turn, parts)], turn, parts)
      }
      // The reminder ends an expired update.
      const isOver = context.deadline !== null && context.deadline <= turn.now
      if (state !== 'checking' || isOver) return answer(undefined)
      const { tenant } = turn
      return record<Entry>([], { effects: [() => parts.notices.updateCheckWanted(tenant, device, context)] })
    },

    /** The device was removed: its update causes no more events and is no longer counted. */
    forget({ device, stored }, _, turn) {
      if (!stored) return answer(undefined)
      const { tenant } = turn
      return recordsWithoutEntry([{ name: updateRecord, value: null }], {
        indexes: updatingRows(device, stored, false),
        ...(turn.reminder() !== null && { reminder: null }),
        tells: stageReports(tenant, stored.counted, null),
        effects: [() => parts.notices.updateMoved(tenant, device, undefined)],
      })
    },

    /**
     * The update has timed out, or may be tried again. If neither is true, because a clock was set back, the reminder is
     * set again.
     */
    reminder_due(actor, _, turn) {
      const { device, stored } = actor
      if (!stored) return answer(undefined)
      const { state, context, attempts } = stored
      const { now, tenant } = turn
      const waiting = waitingAttempts(attempts)
      const dueAt = isRunning(state) ? context.deadline : (waiting[0]?.nextAt ?? null)
      if (dueAt === null) return answer(undefined)
      if (dueAt > now) return record<Entry>([], { reminder: dueAt })
      if (isRunning(state)) {
        return decideTransition(actor, [{ type: 'DUE', now, offerUntil: now + parts.offerTimeoutMs }], turn, parts)
      }
      const later = waiting.find(({ nextAt }) => nextAt > now)
      return record<Entry>([], {
        ...(later && { reminder: later.nextAt }),
        effects: [() => parts.notices.updateRetryDue(tenant, device)],
      })
    },
  }
}

function contextOf({ by, project, firmwares, session, id }: UpdateCommands['begin'], now: number): UpdateContext {
  const [first, ...others] = [...firmwares].sort((a, b) => a.index - b.index)
  return {
    ...noUpdate,
    id,
    by,
    project,
    index: first?.index ?? 0,
    from: first?.firmware ?? '',
    rest: others.map(({ index }) => index),
    session,
    beganAt: now,
  }
}

function answerWith(value: BeginAnswer): Decision<Entry> {
  return answer(value)
}

const failureEvents = { none: 'NONE', busy: 'SERVER_BUSY', failed: 'SERVER_FAILED', fault: 'OUR_FAULT' } as const

/** A report of the update server, the device or its link about one update. */
type UpdateReport = CommandOf<UpdateCommands, 'found' | 'not_found' | 'reported' | 'lost'>

/** Reports with another id are ignored. */
function decideReport(actor: UpdateActorState, command: UpdateReport, turn: Turn, parts: UpdateParts): Decision<Entry> {
  if (command.id !== actor.stored?.context.id) return answer(undefined)
  const moment = { now: turn.now, offerUntil: turn.now + parts.offerTimeoutMs }
  return decideTransition(actor, [{ ...eventOf(command), ...moment } as UpdateEvent], turn, parts)
}

function eventOf(command: UpdateReport): Omit<UpdateEvent, 'now' | 'offerUntil'> {
  switch (command.type) {
    case 'found': {
      const { index, from, offer, rest } = command
      return { type: 'FOUND', found: { index, from, offer, rest } }
    }
    case 'not_found':
      return { type: failureEvents[command.why], message: cut(command.message) }
    case 'reported':
      return { type: command.status, progress: command.progress, message: cut(command.message) }
    case 'lost':
      return { type: 'LOST' }
  }
}

/** Cuts a message to its maximum length, between characters; undefined for an empty text. */
function cut(words: string | undefined): string | undefined {
  if (!words || words.length <= updateMessageCharactersMax) return words || undefined
  const start = words.slice(0, updateMessageCharactersMax)
  return /[\ud800-\udbff]$/.test(start) ? start.slice(0, -1) : start
}

function reconnectEvent(session: string, reported: string | undefined, { now }: Turn, { offerTimeoutMs }: UpdateParts) {
  return { type: 'BACK', now, offerUntil: now + offerTimeoutMs, session, reported } as const
}

function reportedFirmware({ index }: UpdateContext, firmwares: readonly Firmware[]): string | undefined {
  return firmwares.find((firmware) => firmware.index === index)?.firmware
}
