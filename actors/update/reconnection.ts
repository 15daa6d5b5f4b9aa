import type { DeviceReconnected, ResumeUpdate } from '#actors/update/commands'
import type { UpdateActorState, UpdateContext } from '#actors/update/state'
import { decideTransition, nextStep, type UpdateParts } from '#actors/update/transition'
import type { Entry, Firmware } from '#model/entry'
import { hasArrived } from '#model/firmware-order'
import { answer, type Decision, record, type Turn } from '#runtime/actor'

/**
 * The device sent HELLO; its firmware version shows the progress of the update. If the device now refuses automatic
 * updates, an update that began automatically is not offered again: it has failed. Contract 6, Options.
 */
export function decideReconnect(
  actor: UpdateActorState,
  { session, firmwares, isRefusing = false }: DeviceReconnected,
  turn: Turn,
  parts: UpdateParts,
): Decision<Entry> {
  const { stored } = actor
  if (!stored) return answer(undefined)
  const { state, context } = stored
  const back = backOf(session, reported(context, firmwares), turn, parts)
  const isRefused =
    isRefusing && context.by !== 'post' && nextStep(state, context, back)?.actions.has('send_offer') === true
  const event = isRefused ? ({ ...back, type: 'FAILED', message: 'it refuses automatic updates' } as const) : back
  return decideTransition(actor, [event], turn, parts)
}

/**
 * After a restart. If the stored device has the new firmware, the update is done: the previous process may have stopped
 * between the two commits. If it does not, that proves nothing: whether the device restarted is known from its next
 * HELLO. The update server is asked again; the device repeats everything it has to report.
 */
export function decideResume(
  actor: UpdateActorState,
  { firmwares }: ResumeUpdate,
  turn: Turn,
  parts: UpdateParts,
): Decision<Entry> {
  const { device, stored } = actor
  if (!stored) return answer(undefined)
  const { state, context } = stored
  const { offer, from, session } = context
  const has = reported(context, firmwares)
  if (offer && has !== undefined && hasArrived(has, offer.firmware, from)) {
    return decideTransition(actor, [backOf(session, has, turn, parts)], turn, parts)
  }
  // An expired update ends by its reminder.
  const isOver = context.deadline !== null && context.deadline <= turn.now
  if (state !== 'checking' || isOver) return answer(undefined)
  const { tenant } = turn
  return record<Entry>([], { effects: [() => parts.notices.updateCheckWanted(tenant, device, context)] })
}

function backOf(session: string, reported: string | undefined, { now }: Turn, { offerTimeoutMs }: UpdateParts) {
  return { type: 'BACK', now, offerUntil: now + offerTimeoutMs, session, reported } as const
}

function reported({ index }: UpdateContext, firmwares: readonly Firmware[]): string | undefined {
  return firmwares.find((firmware) => firmware.index === index)?.firmware
}
