import type { FirmwareReported, NoUpdateFound, OfferLost, UpdateFound } from '#actors/update/commands'
import type { UpdateEvent } from '#actors/update/events'
import type { UpdateActorState } from '#actors/update/state'
import { decideTransition, type UpdateParts } from '#actors/update/transition'
import type { Entry } from '#model/entry'
import { updateMessageCharactersMax } from '#model/firmware'
import { answer, type Decision, type Turn } from '#runtime/actor'

const failureEvents = { none: 'NONE', busy: 'SERVER_BUSY', failed: 'SERVER_FAILED', fault: 'OUR_FAULT' } as const

/**
 * Handles reports of the update server, the device or its link about one update. Reports with another id are ignored.
 */
export function decideReport(
  actor: UpdateActorState,
  command: UpdateFound | NoUpdateFound | FirmwareReported | OfferLost,
  turn: Turn,
  parts: UpdateParts,
): Decision<Entry> {
  if (command.id !== actor.stored?.context.id) return answer(undefined)
  const moment = { now: turn.now, offerUntil: turn.now + parts.offerTimeoutMs }
  return decideTransition(actor, [{ ...eventOf(command), ...moment } as UpdateEvent], turn, parts)
}

function eventOf(
  command: UpdateFound | NoUpdateFound | FirmwareReported | OfferLost,
): Omit<UpdateEvent, 'now' | 'offerUntil'> {
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

/** Cuts between characters; undefined for an empty text. */
function cut(words: string | undefined): string | undefined {
  if (!words || words.length <= updateMessageCharactersMax) return words || undefined
  const start = words.slice(0, updateMessageCharactersMax)
  return /[\ud800-\udbff]$/.test(start) ? start.slice(0, -1) : start
}
